"""Somebody's own sign-in page: changes take a fresh proof, and nobody reaches anybody else's."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.staff_login import factors, mails, sessions
from brands.staff_login.models import Factor, SignInSettings, StaffSession
from brands.staff_login.staff import save_account
from tests.brands.staff_login.signing_in import code_of, give_password, is_in, with_app
from tests.support import factories
from tests.support.portal import staff

ACCOUNT = "/admin/account/"


def grown_old(window):
    """As if the password had been typed an hour ago."""
    session = window.session
    session[sessions.KEY] = {**session[sessions.KEY], "proved_at": timezone.now().timestamp() - 3600}
    session.save()


@pytest.fixture
def inside(colleague, window):
    give_password(window, colleague)
    return window


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("account/factors/add/", None),
        ("account/factors/add/", {"by": "app", "code": "123456"}),
        ("account/factors/remove/", {"factor": "1"}),
        ("account/recovery-codes/", {}),
    ],
)
def test_changes_of_factors_ask_for_the_password_again(inside, path, sent):
    grown_old(inside)

    response = inside.get(f"/admin/{path}") if sent is None else inside.post(f"/admin/{path}", sent)

    assert response.headers["Location"].startswith("/admin/account/confirm/?next=")


def test_the_right_password_can_be_undone_and_a_wrong_one_does_not(inside):
    grown_old(inside)
    confirm = inside.get("/admin/account/factors/add/").headers["Location"]

    wrong = inside.post(confirm, {"password": "not this one"})
    right = inside.post(confirm, {"password": factories.PASSWORD})

    assert "The password is wrong" in wrong.content.decode()
    assert right.headers["Location"] == "/admin/account/factors/add/"
    assert inside.get("/admin/account/factors/add/").status_code == 200


def test_confirming_leads_to_no_other_site(inside):
    response = inside.post("/admin/account/confirm/?next=https://evil.example/", {"password": factories.PASSWORD})

    assert response.headers["Location"] == ACCOUNT


def test_passwords_are_not_guessed_on_the_confirming_page(inside, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "2/hour"}
    for _guess in range(2):
        inside.post("/admin/account/confirm/", {"password": "guess"})

    response = inside.post("/admin/account/confirm/", {"password": factories.PASSWORD})

    assert "Too many requests" in response.content.decode()


def test_the_first_factor_brings_recovery_codes_a_trail_and_a_notice(brand, colleague, inside):
    page = inside.get("/admin/account/factors/add/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    answer = inside.post("/admin/account/factors/add/", {"by": "app", "code": code_of(seed)}).content.decode()
    mails.send_due(at=timezone.now())

    assert len(re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\n", answer)) == 10
    assert (
        AuditLogEntry.objects.filter(brand=brand, user=colleague, action__startswith="Second factor added").count() == 1
    )
    assert [each.to for each in mail.outbox] == [[colleague.email]]
    assert seed not in str(inside.session.items())


def test_a_seed_waits_encrypted_in_the_session(inside):
    page = inside.get("/admin/account/factors/add/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    stored = Session.objects.get(session_key=inside.session.session_key).get_decoded()

    assert stored["new_app"]
    assert seed not in str(stored)


def test_a_colleagues_factor_is_not_removed(brand, inside):
    other = staff(brand, role="owner")
    with_app(other)

    inside.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert Factor.objects.filter(user=other).exists()


def test_the_last_factor_stays_where_one_is_required(brand, colleague, inside):
    with_app(colleague)
    SignInSettings.objects.create(brand=brand, second_factor_required=True)

    inside.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert Factor.objects.filter(user=colleague).exists()


def test_recovery_codes_go_with_the_last_factor(colleague, inside):
    with_app(colleague)
    factors.new_recovery_codes(user=colleague)

    inside.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert factors.recovery_codes_left(colleague) == 0


def test_sessions_are_listed_and_one_is_ended(colleague, inside):
    other = Client(HTTP_USER_AGENT="Mozilla/5.0 (iPhone; CPU iPhone OS 19) Version/19 Safari/604.1")
    give_password(other, colleague)

    page = inside.get(ACCOUNT).content.decode()
    row = StaffSession.objects.get(session_key=other.session.session_key)
    inside.post("/admin/account/sessions/end/", {"session": str(row.pk)})

    assert "Chrome on Linux" in page
    assert "Safari on iPhone" in page
    assert (is_in(inside), is_in(other)) == (True, False)


def test_only_our_own_words_are_translated(colleague, inside):
    """A passkey may be called as a button is, and a browser may send any name."""
    give_password(Client(HTTP_USER_AGENT="Remove"), colleague)
    Factor.objects.create(user=colleague, kind=Factor.Kind.PASSKEY, name="Remove", secret="x")
    inside.post("/admin/language/", {"language": "de"})

    page = inside.get(ACCOUNT).content.decode()

    assert page.count(">Remove</strong>") == 2
    assert "Chrome unter Linux" in page


def test_all_other_sessions_end_at_once(colleague, inside):
    others = [Client(), Client()]
    for other in others:
        give_password(other, colleague)

    inside.post("/admin/account/sessions/end/", {"session": "others"})

    assert [is_in(each) for each in (inside, *others)] == [True, False, False]


def test_a_neighbours_session_is_neither_shown_nor_ended(inside):
    neighbour = staff(factories.brand(name="Neighbour"), password=factories.PASSWORD)
    neighbour_client = Client(HTTP_USER_AGENT="Opera of the neighbour")
    give_password(neighbour_client, neighbour)
    row = StaffSession.objects.get(user=neighbour)

    page = inside.get(ACCOUNT).content.decode()
    inside.post("/admin/account/sessions/end/", {"session": str(row.pk)})
    inside.post("/admin/account/sessions/end/", {"session": "others"})

    assert "of the neighbour" not in page
    assert is_in(neighbour_client)


@pytest.mark.parametrize("sent", ["", "x", "9" * 30, "-1", "١", "0"])
def test_a_mistyped_session_ends_nothing(inside, sent):
    assert inside.post("/admin/account/sessions/end/", {"session": sent}).status_code == 302
    assert inside.post("/admin/account/factors/remove/", {"factor": sent}).status_code == 302
    assert is_in(inside)


def test_a_changed_password_ends_the_other_sessions_and_their_rows(colleague, inside):
    other = Client()
    give_password(other, colleague)
    new = "an0ther-pass-phrase"
    inside.post(
        "/admin/password_change/", {"old_password": factories.PASSWORD, "new_password1": new, "new_password2": new}
    )

    assert (is_in(inside), is_in(other)) == (True, False)
    assert StaffSession.objects.filter(user=colleague).count() == 1


def test_who_is_switched_off_stays_logged_out_when_switched_on_again(brand, colleague, inside):
    staff(brand, role="owner")
    for is_active in (False, True):
        colleague.is_active = is_active
        save_account(user=colleague, fields=["is_active"])

    assert not is_in(inside)


def test_logging_out_takes_the_session_off_the_list(colleague, inside):
    inside.post("/admin/logout/")

    assert not StaffSession.objects.filter(user=colleague).exists()


@pytest.mark.parametrize(
    "path", ["", "confirm/", "factors/add/", "factors/remove/", "recovery-codes/", "sessions/end/"]
)
def test_who_is_not_logged_in_is_led_to_the_login(db, window, path):
    for response in (window.get(ACCOUNT + path), window.post(ACCOUNT + path)):
        assert response.headers["Location"].startswith("/admin/login/?next=")


def test_a_call_of_the_api_asks_nothing_about_sessions(db, window, django_assert_num_queries):
    with django_assert_num_queries(0):
        window.get("/api/v1/customer/loyalty/points")
