"""The second step of a login: what it takes, that nothing is good twice, and that it cannot be gone round."""

import re
from threading import Barrier

import pyotp
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.staff_login import factors
from brands.staff_login.models import Factor, RecoveryCode, SignInSettings
from tests.brands.staff_login.provider import sign_in
from tests.brands.staff_login.signing_in import code_of, give_password, is_in, with_app
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import staff


def demand(brand):
    SignInSettings.objects.create(brand=brand, second_factor_required=True)


def test_a_password_alone_does_for_who_neither_has_nor_needs_a_factor(colleague, window):
    response = give_password(window, colleague)

    assert response.status_code == 302
    assert is_in(window)


def test_who_has_an_app_is_in_after_its_code_and_not_before(colleague, window):
    seed = with_app(colleague)

    response = give_password(window, colleague)
    assert response.headers["Location"] == "/admin/second-factor/"
    assert not is_in(window)
    window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert is_in(window)


def test_a_wrong_code_lets_nobody_in(colleague, window):
    seed = with_app(colleague)
    give_password(window, colleague)

    wrong = f"{(int(code_of(seed)) + 1) % 1_000_000:06d}"
    response = window.post("/admin/second-factor/", {"code": wrong})

    assert "wrong or has already been used" in response.content.decode()
    assert not is_in(window)


def test_the_same_code_is_good_once(colleague, window):
    seed = with_app(colleague)
    code = code_of(seed)
    give_password(window, colleague)
    window.post("/admin/second-factor/", {"code": code})
    other = Client()
    give_password(other, colleague)

    other.post("/admin/second-factor/", {"code": code})

    assert is_in(window)
    assert not is_in(other)


def test_a_recovery_code_is_good_once(colleague, window):
    with_app(colleague)
    code = factors.new_recovery_codes(user=colleague)[3]
    give_password(window, colleague)
    window.post("/admin/second-factor/", {"code": code.upper()})
    other = Client()
    give_password(other, colleague)

    other.post("/admin/second-factor/", {"code": code})

    assert (is_in(window), is_in(other)) == (True, False)
    assert factors.recovery_codes_left(colleague) == 9


def test_a_colleagues_recovery_code_is_good_for_them_alone(brand, colleague, window):
    with_app(colleague)
    neighbour = staff(brand, password=factories.PASSWORD)
    with_app(neighbour)
    code = factors.new_recovery_codes(user=neighbour)[0]
    give_password(window, colleague)

    window.post("/admin/second-factor/", {"code": code})

    assert not is_in(window)


def test_tries_are_bounded_over_all_browsers(colleague, window, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "3/hour"}
    seed = with_app(colleague)
    for _try in range(3):
        browser = Client()
        give_password(browser, colleague)
        browser.post("/admin/second-factor/", {"code": "000000"})
    give_password(window, colleague)

    response = window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "Too many requests" in response.content.decode()
    assert not is_in(window)


def test_a_brands_provider_uses_up_no_tries_elsewhere(brand, colleague, provider, window, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "3/hour"}
    SignInSettings.objects.update(second_factor_required=True)
    seed = with_app(colleague)
    through = Client()
    sign_in(through, brand, provider)
    answers = [through.post("/admin/second-factor/", {"code": "000000"}).content.decode() for _ in range(4)]
    assert ["Too many requests" in answer for answer in answers] == [False, False, False, True]
    give_password(window, colleague)

    window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert is_in(window)


def test_without_redis_no_codes_are_tried(colleague, window, settings):
    seed = with_app(colleague)
    give_password(window, colleague)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "temporarily unavailable" in response.content.decode()


def test_a_new_password_ends_a_login_that_waits_for_its_second_step(colleague, window):
    seed = with_app(colleague)
    give_password(window, colleague)
    colleague.set_password("an0ther-pass-phrase")
    colleague.save()

    response = window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert response.headers["Location"].startswith("/admin/login/")
    assert not is_in(window)


@pytest.mark.parametrize("path", ["/admin/second-factor/", "/admin/second-factor/set-up/"])
def test_the_second_step_without_the_first_leads_to_the_login(db, window, path):
    assert window.get(path).headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("role", list(StaffRole.Role))
def test_who_must_have_a_factor_sees_nothing_before_it_is_set_up(brand, window, role):
    demand(brand)
    person = staff(brand, role=role, password=factories.PASSWORD)

    response = give_password(window, person)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"
    assert not is_in(window)
    assert window.get(f"/api/v1/auth-codes/{'A' * 5}/scans").status_code == 401


def test_setting_up_an_app_ends_with_recovery_codes_and_the_portal(brand, colleague, window):
    demand(brand)
    give_password(window, colleague)
    page = window.get("/admin/second-factor/set-up/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    answer = window.post("/admin/second-factor/set-up/", {"by": "app", "code": code_of(seed)}).content.decode()

    assert len(re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\n", answer)) == 10
    assert is_in(window)
    assert AuditLogEntry.objects.get(action__startswith="Second factor added").brand == brand


def test_a_stolen_password_adds_no_second_factor_of_its_own(brand, colleague, window):
    demand(brand)
    with_app(colleague)
    give_password(window, colleague)

    response = window.get("/admin/second-factor/set-up/")

    assert response.headers["Location"] == "/admin/second-factor/"


def test_what_one_brand_demands_is_not_asked_of_anothers_staff(brand, window):
    demand(factories.brand())
    person = staff(brand, password=factories.PASSWORD)

    give_password(window, person)

    assert is_in(window)


@pytest.mark.parametrize("demanded_by", ["installation", "a brand"])
def test_superusers_need_one_where_anybody_does(brand, window, settings, demanded_by):
    settings.STAFF_SECOND_FACTOR_REQUIRED = demanded_by == "installation"
    if demanded_by == "a brand":
        demand(brand)
    operator = factories.user(is_staff=True, is_superuser=True, password=factories.PASSWORD)

    response = give_password(window, operator)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"


def test_what_is_stored_names_neither_seed_nor_recovery_code(colleague):
    seed = with_app(colleague)
    code = factors.new_recovery_codes(user=colleague)[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM staff_login_factor")
        stored = cursor.fetchone()[0]

    assert seed not in stored
    assert Factor.objects.get().secret == seed
    assert all(code.replace("-", "").encode() not in bytes(row.digest) for row in RecoveryCode.objects.all())


TRIES = 24


def tries_at_the_same_time(use):
    return sum(at_once(lambda _try: use(), range(TRIES), threads=TRIES))


@pytest.mark.django_db(transaction=True)
def test_many_at_the_same_time_use_a_code_once(colleague):
    seed = with_app(colleague)
    code, at = code_of(seed), timezone.now()

    assert tries_at_the_same_time(lambda: factors.accepts(user=colleague, code=code, at=at)) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_a_code_is_used_more_than_once(colleague):
    seed = with_app(colleague)
    code, at = code_of(seed), timezone.now()
    all_have_looked = Barrier(TRIES)

    def check_then_write():
        app = Factor.objects.get(user=colleague)
        step = factors.step_of(app.secret, code, at)
        good = step is not None and step > app.last_counter
        all_have_looked.wait()
        app.last_counter = step
        app.save()
        return good

    assert tries_at_the_same_time(check_then_write) > 1


def test_a_code_is_good_half_a_minute_early_and_late_and_no_longer(colleague):
    seed, at = factors.new_seed(), timezone.now()
    now = int(at.timestamp())
    totp = pyotp.TOTP(seed)

    good = [drift for drift in (-60, -30, 0, 30, 60) if factors.step_of(seed, totp.at(now + drift), at) is not None]

    assert good == [-30, 0, 30]
