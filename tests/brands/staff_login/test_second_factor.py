"""The second step of a login: what it requires, that codes are valid once, and that it cannot be bypassed."""

import base64
import json
import re
from hashlib import sha256
from threading import Barrier

import pyotp
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from fido2.utils import websafe_encode
from fido2.webauthn import AttestedCredentialData, AuthenticatorData

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.staff_login import factors, passkeys
from brands.staff_login.models import Factor, RecoveryCode, SignInSettings
from tests.brands.staff_login.provider import sign_in
from tests.brands.staff_login.signing_in import add_app, code_of, is_logged_in, submit_password
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import staff


def require_second_factor(brand):
    SignInSettings.objects.create(brand=brand, second_factor_required=True)


def test_password_is_enough_for_a_user_who_neither_has_nor_needs_a_factor(colleague, web_client):
    response = submit_password(web_client, colleague)

    assert response.status_code == 302
    assert is_logged_in(web_client)


def test_user_with_an_app_is_logged_in_only_after_its_code(colleague, web_client):
    seed = add_app(colleague)

    response = submit_password(web_client, colleague)
    assert response.headers["Location"] == "/admin/second-factor/"
    assert not is_logged_in(web_client)
    web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert is_logged_in(web_client)


def test_wrong_code_is_rejected(colleague, web_client):
    seed = add_app(colleague)
    submit_password(web_client, colleague)

    wrong = f"{(int(code_of(seed)) + 1) % 1_000_000:06d}"
    response = web_client.post("/admin/second-factor/", {"code": wrong})

    assert "wrong or has already been used" in response.content.decode()
    assert not is_logged_in(web_client)


def test_code_of_an_app_is_valid_once(colleague, web_client):
    seed = add_app(colleague)
    code = code_of(seed)
    submit_password(web_client, colleague)
    web_client.post("/admin/second-factor/", {"code": code})
    other = Client()
    submit_password(other, colleague)

    other.post("/admin/second-factor/", {"code": code})

    assert is_logged_in(web_client)
    assert not is_logged_in(other)


def test_recovery_code_is_valid_once(colleague, web_client):
    add_app(colleague)
    code = factors.new_recovery_codes(user=colleague)[3]
    submit_password(web_client, colleague)
    web_client.post("/admin/second-factor/", {"code": code.upper()})
    other = Client()
    submit_password(other, colleague)

    other.post("/admin/second-factor/", {"code": code})

    assert (is_logged_in(web_client), is_logged_in(other)) == (True, False)
    assert factors.recovery_codes_left(colleague) == 9


def test_recovery_code_of_a_colleague_is_rejected(brand, colleague, web_client):
    add_app(colleague)
    neighbour = staff(brand, password=factories.PASSWORD)
    add_app(neighbour)
    code = factors.new_recovery_codes(user=neighbour)[0]
    submit_password(web_client, colleague)

    web_client.post("/admin/second-factor/", {"code": code})

    assert not is_logged_in(web_client)


def test_attempts_are_limited_across_all_browsers(colleague, web_client, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "3/hour"}
    seed = add_app(colleague)
    for _attempt in range(3):
        browser = Client()
        submit_password(browser, colleague)
        browser.post("/admin/second-factor/", {"code": "000000"})
    submit_password(web_client, colleague)

    response = web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "Too many requests" in response.content.decode()
    assert not is_logged_in(web_client)


def test_attempts_after_a_providers_sign_in_are_counted_separately(brand, colleague, provider, web_client, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "3/hour"}
    SignInSettings.objects.update(second_factor_required=True)
    seed = add_app(colleague)
    provider_client = Client()
    sign_in(provider_client, brand, provider)
    answers = [provider_client.post("/admin/second-factor/", {"code": "000000"}).content.decode() for _ in range(4)]
    assert ["Too many requests" in answer for answer in answers] == [False, False, False, True]
    submit_password(web_client, colleague)

    web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert is_logged_in(web_client)


def test_codes_are_not_checked_without_redis(colleague, web_client, settings):
    seed = add_app(colleague)
    submit_password(web_client, colleague)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "temporarily unavailable" in response.content.decode()


def test_new_password_ends_a_login_waiting_for_its_second_step(colleague, web_client):
    seed = add_app(colleague)
    submit_password(web_client, colleague)
    colleague.set_password("an0ther-pass-phrase")
    colleague.save()

    response = web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert response.headers["Location"].startswith("/admin/login/")
    assert not is_logged_in(web_client)


@pytest.mark.parametrize("path", ["/admin/second-factor/", "/admin/second-factor/set-up/"])
def test_second_step_without_the_first_redirects_to_the_login(db, web_client, path):
    assert web_client.get(path).headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("role", list(StaffRole.Role))
def test_user_who_needs_a_factor_has_no_access_until_it_is_set_up(brand, web_client, role):
    require_second_factor(brand)
    user = staff(brand, role=role, password=factories.PASSWORD)

    response = submit_password(web_client, user)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"
    assert not is_logged_in(web_client)
    assert web_client.get(f"/api/v1/auth-codes/{'A' * 5}/scans").status_code == 401


def test_setting_up_an_app_returns_recovery_codes_and_completes_the_login(brand, colleague, web_client):
    require_second_factor(brand)
    submit_password(web_client, colleague)
    page = web_client.get("/admin/second-factor/set-up/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    answer = web_client.post("/admin/second-factor/set-up/", {"by": "app", "code": code_of(seed)}).content.decode()

    assert len(re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\n", answer)) == 10
    assert is_logged_in(web_client)
    assert AuditLogEntry.objects.get(action__startswith="Second factor added").brand == brand


def test_second_factor_cannot_be_added_with_the_password_alone(brand, colleague, web_client):
    require_second_factor(brand)
    add_app(colleague)
    submit_password(web_client, colleague)

    response = web_client.get("/admin/second-factor/set-up/")

    assert response.headers["Location"] == "/admin/second-factor/"


def test_requirement_of_one_brand_does_not_apply_to_anothers_staff(brand, web_client):
    require_second_factor(factories.brand())
    user = staff(brand, password=factories.PASSWORD)

    submit_password(web_client, user)

    assert is_logged_in(web_client)


@pytest.mark.parametrize("required_by", ["installation", "a brand"])
def test_superuser_needs_a_factor_where_any_user_does(brand, web_client, settings, required_by):
    settings.STAFF_SECOND_FACTOR_REQUIRED = required_by == "installation"
    if required_by == "a brand":
        require_second_factor(brand)
    operator = factories.user(is_staff=True, is_superuser=True, password=factories.PASSWORD)

    response = submit_password(web_client, operator)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"


def test_seed_and_recovery_codes_are_not_stored_in_plain_text(colleague):
    seed = add_app(colleague)
    code = factors.new_recovery_codes(user=colleague)[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM staff_login_factor")
        stored = cursor.fetchone()[0]

    assert seed not in stored
    assert Factor.objects.get().secret == seed
    assert all(code.replace("-", "").encode() not in bytes(row.digest) for row in RecoveryCode.objects.all())


ATTEMPTS = 24


def count_concurrent_successes(use):
    return sum(run_concurrently(lambda _attempt: use(), range(ATTEMPTS), threads=ATTEMPTS))


@pytest.mark.django_db(transaction=True)
def test_concurrent_attempts_use_a_code_once(colleague):
    seed = add_app(colleague)
    code, at = code_of(seed), timezone.now()

    assert count_concurrent_successes(lambda: factors.accepts(user=colleague, code=code, at=at)) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_a_code_is_used_more_than_once(colleague):
    seed = add_app(colleague)
    code, at = code_of(seed), timezone.now()
    all_have_checked = Barrier(ATTEMPTS)

    def check_then_write():
        app = Factor.objects.get(user=colleague)
        step = factors.step_of(app.secret, code, at)
        good = step is not None and step > app.last_counter
        all_have_checked.wait()
        app.last_counter = step
        app.save()
        return good

    assert count_concurrent_successes(check_then_write) > 1


def test_code_is_valid_only_half_a_minute_early_or_late(colleague):
    seed, at = factors.new_seed(), timezone.now()
    now = int(at.timestamp())
    totp = pyotp.TOTP(seed)

    good = [drift for drift in (-60, -30, 0, 30, 60) if factors.step_of(seed, totp.at(now + drift), at) is not None]

    assert good == [-30, 0, 30]


def test_passkey_with_an_unknown_algorithm_is_rejected(colleague, rf):
    """Its key verifies nothing."""
    passkey = AttestedCredentialData.create(b"\0" * 16, b"an id", {1: 2, 3: -65000})
    factors.add_passkey(user=colleague, name="Odd", credential=base64.b64encode(passkey).decode(), counter=0)
    request = rf.post("/admin/second-factor/")
    request.session = {}
    challenge = passkeys.question(request, colleague)["publicKey"]["challenge"]
    client_data = {"type": "webauthn.get", "challenge": challenge, "origin": "http://testserver"}
    data = AuthenticatorData.create(sha256(b"testserver").digest(), AuthenticatorData.FLAG.UP, 1)
    response = {
        "clientDataJSON": websafe_encode(json.dumps(client_data).encode()),
        "authenticatorData": websafe_encode(data),
        "signature": websafe_encode(b"any"),
    }
    answer = {"id": websafe_encode(b"an id"), "rawId": websafe_encode(b"an id"), "type": "public-key"}

    answered = json.dumps({**answer, "response": response})

    assert not passkeys.accepts(request, colleague, answer=answered, at=timezone.now())
