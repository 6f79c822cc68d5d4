"""A user's own sign-in page: changes need a recent password, and other users are out of bounds."""

import json
import re
from base64 import urlsafe_b64encode
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.staff_login import factors, mails, sessions
from brands.staff_login.models import Factor, SignInSettings, StaffSession
from brands.staff_login.staff import save_account
from tests.brands.staff_login.signing_in import add_app, code_of, is_logged_in, submit_password
from tests.support import factories
from tests.support.portal import staff

ACCOUNT = "/admin/account/"


def expire_confirmation(web_client):
    """Make the last confirmation of the password an hour old."""
    session = web_client.session
    session[sessions.KEY] = {**session[sessions.KEY], "proved_at": timezone.now().timestamp() - 3600}
    session.save()


@pytest.fixture
def logged_in(colleague, web_client):
    submit_password(web_client, colleague)
    return web_client


def passkey_answer(attestation_object):
    client_data = b'{"type": "webauthn.create", "challenge": "AA", "origin": "http://testserver"}'
    response = {"clientDataJSON": client_data, "attestationObject": attestation_object}
    encoded = {name: urlsafe_b64encode(content).decode().rstrip("=") for name, content in response.items()}
    return json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": encoded})


@pytest.mark.parametrize("attestation_object", [b"", b"\x1b", b"\x81" * 5000], ids=["empty", "cut off", "nested"])
def test_malformed_answer_of_a_passkey_is_rejected(logged_in, attestation_object):
    logged_in.get("/admin/account/factors/add/")

    answer = logged_in.post(
        "/admin/account/factors/add/", {"by": "passkey", "credential": passkey_answer(attestation_object)}
    )

    assert "The passkey did not answer as expected" in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("account/factors/add/", None),
        ("account/factors/add/", {"by": "app", "code": "123456"}),
        ("account/factors/remove/", {"factor": "1"}),
        ("account/recovery-codes/", {}),
    ],
)
def test_changing_factors_requires_the_password_again(logged_in, path, sent):
    expire_confirmation(logged_in)

    response = logged_in.get(f"/admin/{path}") if sent is None else logged_in.post(f"/admin/{path}", sent)

    assert response.headers["Location"].startswith("/admin/account/confirm/?next=")


def test_correct_password_confirms_and_a_wrong_one_does_not(logged_in):
    expire_confirmation(logged_in)
    confirm = logged_in.get("/admin/account/factors/add/").headers["Location"]

    wrong = logged_in.post(confirm, {"password": "not this one"})
    right = logged_in.post(confirm, {"password": factories.PASSWORD})

    assert "The password is wrong" in wrong.content.decode()
    assert right.headers["Location"] == "/admin/account/factors/add/"
    assert logged_in.get("/admin/account/factors/add/").status_code == 200


def test_confirmation_does_not_redirect_to_another_site(logged_in):
    response = logged_in.post("/admin/account/confirm/?next=https://evil.example/", {"password": factories.PASSWORD})

    assert response.headers["Location"] == ACCOUNT


def test_password_confirmation_is_rate_limited(logged_in, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "2/hour"}
    for _ in range(2):
        logged_in.post("/admin/account/confirm/", {"password": "guess"})

    response = logged_in.post("/admin/account/confirm/", {"password": factories.PASSWORD})

    assert "Too many requests" in response.content.decode()


def test_first_factor_creates_recovery_codes_a_log_entry_and_a_mail(brand, colleague, logged_in):
    page = logged_in.get("/admin/account/factors/add/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    answer = logged_in.post("/admin/account/factors/add/", {"by": "app", "code": code_of(seed)}).content.decode()
    mails.send_due(at=timezone.now())

    assert len(re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\n", answer)) == 10
    assert (
        AuditLogEntry.objects.filter(brand=brand, user=colleague, action__startswith="Second factor added").count() == 1
    )
    assert [each.to for each in mail.outbox] == [[colleague.email]]
    assert seed not in str(logged_in.session.items())


def test_pending_seed_is_encrypted_in_the_session(logged_in):
    page = logged_in.get("/admin/account/factors/add/").content.decode()
    seed = re.search(r"once-shown\">([A-Z2-7 ]+)<", page)[1].replace(" ", "")

    stored = Session.objects.get(session_key=logged_in.session.session_key).get_decoded()

    assert stored["new_app"]
    assert seed not in str(stored)


def test_factor_of_a_colleague_cannot_be_removed(brand, logged_in):
    other = staff(brand, role="owner")
    add_app(other)

    logged_in.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert Factor.objects.filter(user=other).exists()


def test_last_factor_cannot_be_removed_where_one_is_required(brand, colleague, logged_in):
    add_app(colleague)
    SignInSettings.objects.create(brand=brand, second_factor_required=True)

    logged_in.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert Factor.objects.filter(user=colleague).exists()


def test_recovery_codes_are_removed_with_the_last_factor(colleague, logged_in):
    add_app(colleague)
    factors.new_recovery_codes(user=colleague)

    logged_in.post("/admin/account/factors/remove/", {"factor": str(Factor.objects.get().pk)})

    assert factors.recovery_codes_left(colleague) == 0


def test_sessions_are_listed_and_can_be_ended(colleague, logged_in):
    other = Client(HTTP_USER_AGENT="Mozilla/5.0 (iPhone; CPU iPhone OS 19) Version/19 Safari/604.1")
    submit_password(other, colleague)

    page = logged_in.get(ACCOUNT).content.decode()
    row = StaffSession.objects.get(session_key=other.session.session_key)
    logged_in.post("/admin/account/sessions/end/", {"session": str(row.pk)})

    assert "Chrome on Linux" in page
    assert "Safari on iPhone" in page
    assert (is_logged_in(logged_in), is_logged_in(other)) == (True, False)


def test_session_that_a_page_extended_is_still_listed(colleague, logged_in):
    """Selecting a brand, for example, stores the session again, so it is valid for another twelve hours."""
    now, other = timezone.now(), Client(HTTP_USER_AGENT="Opera of yesterday")
    submit_password(other, colleague)
    rows = StaffSession.objects.filter(session_key=other.session.session_key)
    rows.update(created_at=now - timedelta(days=3), last_seen_at=now - timedelta(hours=2))

    assert sessions.purge_ended(at=now) == 0
    assert "Opera of yesterday" in logged_in.get(ACCOUNT).content.decode()

    rows.update(last_seen_at=now - timedelta(hours=12, minutes=6))
    assert "Opera of yesterday" not in logged_in.get(ACCOUNT).content.decode()
    assert sessions.purge_ended(at=now) == 1


@pytest.mark.parametrize("has_app", [False, True])
def test_session_that_another_login_replaces_is_no_longer_listed(colleague, logged_in, has_app):
    if has_app:
        add_app(colleague)

    submit_password(logged_in, colleague)

    keys = StaffSession.objects.values_list("session_key", flat=True)
    assert list(keys) == ([] if has_app else [logged_in.session.session_key])


def test_names_from_users_and_browsers_are_not_translated(colleague, logged_in):
    """A passkey may have the name of a button, and a browser may send any name."""
    submit_password(Client(HTTP_USER_AGENT="Remove"), colleague)
    Factor.objects.create(user=colleague, kind=Factor.Kind.PASSKEY, name="Remove", secret="x")
    logged_in.post("/admin/language/", {"language": "de"})

    page = logged_in.get(ACCOUNT).content.decode()

    assert page.count(">Remove</strong>") == 2
    assert "Chrome unter Linux" in page


def test_all_other_sessions_can_be_ended_at_once(colleague, logged_in):
    other_clients = [Client(), Client()]
    for other in other_clients:
        submit_password(other, colleague)

    logged_in.post("/admin/account/sessions/end/", {"session": "others"})

    assert [is_logged_in(each) for each in (logged_in, *other_clients)] == [True, False, False]


def test_session_of_another_user_is_neither_listed_nor_ended(logged_in):
    neighbour = staff(factories.brand(name="Neighbour"), password=factories.PASSWORD)
    neighbour_client = Client(HTTP_USER_AGENT="Opera of the neighbour")
    submit_password(neighbour_client, neighbour)
    row = StaffSession.objects.get(user=neighbour)

    page = logged_in.get(ACCOUNT).content.decode()
    logged_in.post("/admin/account/sessions/end/", {"session": str(row.pk)})
    logged_in.post("/admin/account/sessions/end/", {"session": "others"})

    assert "of the neighbour" not in page
    assert is_logged_in(neighbour_client)


@pytest.mark.parametrize("sent", ["", "x", "9" * 30, "-1", "١", "0"])
def test_invalid_id_ends_no_session(logged_in, sent):
    assert logged_in.post("/admin/account/sessions/end/", {"session": sent}).status_code == 302
    assert logged_in.post("/admin/account/factors/remove/", {"factor": sent}).status_code == 302
    assert is_logged_in(logged_in)


def test_changed_password_ends_the_other_sessions_and_their_rows(colleague, logged_in):
    other = Client()
    submit_password(other, colleague)
    new = "an0ther-pass-phrase"
    logged_in.post(
        "/admin/password_change/", {"old_password": factories.PASSWORD, "new_password1": new, "new_password2": new}
    )

    assert (is_logged_in(logged_in), is_logged_in(other)) == (True, False)
    assert StaffSession.objects.filter(user=colleague).count() == 1


def test_guesses_of_the_old_password_are_limited(colleague, logged_in, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "2/hour"}
    new = "an0ther-pass-phrase"
    for old in ("guess", "another guess", factories.PASSWORD):
        data = {"old_password": old, "new_password1": new, "new_password2": new}
        answer = logged_in.post("/admin/password_change/", data, follow=True)

    assert "Too many requests" in answer.content.decode()
    colleague.refresh_from_db()
    assert not colleague.check_password(new)


def test_new_password_lets_the_user_in_again_after_others_have_used_up_the_attempts(colleague, logged_in, settings):
    settings.LOGIN_TRIES_PER_DAY = 3
    for number in range(3):
        submit_password(Client(REMOTE_ADDR=f"10.0.0.{number}"), colleague, "a guess")
    new = "an0ther-pass-phrase"

    logged_in.post(
        "/admin/password_change/", {"old_password": factories.PASSWORD, "new_password1": new, "new_password2": new}
    )
    logged_in.post("/admin/logout/")
    submit_password(logged_in, colleague, new)

    assert is_logged_in(logged_in)


def test_deactivated_user_stays_logged_out_after_reactivation(brand, colleague, logged_in):
    staff(brand, role="owner")
    for is_active in (False, True):
        colleague.is_active = is_active
        save_account(user=colleague, fields=["is_active"])

    assert not is_logged_in(logged_in)


def test_log_out_removes_the_session_from_the_list(colleague, logged_in):
    logged_in.post("/admin/logout/")

    assert not StaffSession.objects.filter(user=colleague).exists()


@pytest.mark.parametrize(
    "path", ["", "confirm/", "factors/add/", "factors/remove/", "recovery-codes/", "sessions/end/"]
)
def test_logged_out_user_is_redirected_to_the_login(db, web_client, path):
    for response in (web_client.get(ACCOUNT + path), web_client.post(ACCOUNT + path)):
        assert response.headers["Location"].startswith("/admin/login/?next=")


def test_api_call_makes_no_query_for_sessions(db, web_client, django_assert_num_queries):
    with django_assert_num_queries(0):
        web_client.get("/api/v1/customer/loyalty/points")
