"""Logging in, refreshing, logging out and registering over HTTP."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.credentials import LoginSession
from brands.models.people import StaffRole, User
from events.models import Event
from tests.support import factories
from tests.support.api import error
from tests.support.factories import PASSWORD


@pytest.fixture
def member(brand):
    return factories.customer(brand, email="ada@example.com", password=PASSWORD)


def log_in(api, email="ada@example.com", password=PASSWORD, **fields):
    return api.post("auth/token", {"email": email, "password": password, **fields})


def refresh(api, token):
    return api.post("auth/token/refresh", {"refresh": token})


# --- Logging in ------------------------------------------------------------------------------------------------------


def test_login_returns_tokens_for_the_brand(api, brand, member):
    response = log_in(api, brand_id=brand.pk)

    body = response.json()
    assert response.status_code == 200
    assert (body["user_id"], body["brand_id"], body["token_type"]) == (member.pk, brand.pk, "Bearer")
    assert body["expires_in"] == 900
    assert response["Cache-Control"] == "no-store"


def test_access_token_authenticates_requests(api, brand, member):
    access = log_in(api, brand_id=brand.pk).json()["access"]

    assert api.with_headers(authorization=f"Bearer {access}").get("customer/loyalty/points").status_code == 200


def test_login_ignores_case_of_the_email_address(api, brand, member):
    assert log_in(api, email="ADA@Example.com", brand_id=brand.pk).status_code == 200


def test_login_publishes_an_event(api, brand, member):
    log_in(api, brand_id=brand.pk)

    event = Event.objects.get()
    assert (event.detail_type, event.detail["arguments"]) == (
        "log-user-login",
        {"brand_id": brand.pk, "user_id": member.pk},
    )
    assert event.detail["payload"]["sessionId"] == str(LoginSession.objects.get().pk)


def test_staff_cannot_log_in_as_customers(api, brand):
    staff_user = factories.user(email="ada@example.com", password=PASSWORD, is_staff=True)
    StaffRole.objects.create(user=staff_user, brand=brand, role="support")

    assert error(log_in(api, brand_id=brand.pk)) == (401, "AUTHENTICATION_REQUIRED")
    assert not Event.objects.exists()


@pytest.mark.parametrize("fields", [{"password": "wrong"}, {"email": "nobody@example.com"}])
def test_wrong_address_and_wrong_password_get_the_same_error(api, brand, member, fields):
    response = log_in(api, **fields, brand_id=brand.pk)

    assert error(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response.json()["message"] == "E-mail address or password is wrong."


def test_inactive_user_gets_the_same_error(api, brand, member):
    User.objects.update(is_active=False)

    assert error(log_in(api, brand_id=brand.pk)) == (401, "AUTHENTICATION_REQUIRED")


# --- Brand of a login ------------------------------------------------------------------------------------------------


def test_api_key_determines_the_brand(api, brand, member):
    assert log_in(api.app().without("origin")).json()["brand_id"] == brand.pk


def test_api_key_and_brand_id_must_match(api, member):
    assert error(log_in(api.app(), brand_id=factories.brand().pk)) == (403, "BRAND_MISMATCH")


@pytest.mark.parametrize("origin", ["https://shop.example.com", "HTTPS://SHOP.example.com:8443"])
def test_origin_determines_the_brand(api, member, origin):
    shop = factories.brand(hostname="shop.example.com")

    assert log_in(api.with_headers(origin=origin)).json()["brand_id"] == shop.pk


def test_port_of_the_origin_distinguishes_brands_on_one_host(api, member):
    factories.brand(name="Alpha", hostname="shop.example.com")
    zeta = factories.brand(name="Zeta", hostname="shop.example.com:8443")

    assert log_in(api.with_headers(origin="https://shop.example.com:8443")).json()["brand_id"] == zeta.pk


def test_customer_of_one_brand_needs_no_brand_id(api, brand, member):
    assert log_in(api).json()["brand_id"] == brand.pk


def test_customer_of_two_brands_must_send_a_brand_id(api, brand, member):
    factories.accounts.enrol(user_id=member.pk, brand_id=factories.brand().pk, at=member.date_joined)

    response = log_in(api)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert response.json()["details"] == {"field": "brand_id"}


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//a]b", "null", "é", "http://x:99999999"])
def test_invalid_origin_is_ignored(api, brand, member, origin):
    assert log_in(api.with_headers(origin=origin)).json()["brand_id"] == brand.pk


# --- Refreshing and logging out --------------------------------------------------------------------------------------


def test_refresh_returns_new_tokens(api, brand, member):
    first = log_in(api, brand_id=brand.pk).json()

    second = refresh(api, first["refresh"]).json()

    assert second["user_id"] == member.pk
    assert {first["access"], first["refresh"]}.isdisjoint({second["access"], second["refresh"]})


def test_late_reuse_of_a_refresh_token_ends_the_session(api, brand, member):
    first = log_in(api, brand_id=brand.pk).json()["refresh"]
    second = refresh(api, first).json()["refresh"]
    again = refresh(api, first)
    LoginSession.objects.update(rotated_at=timezone.now() - timedelta(minutes=1))

    assert again.status_code == 200  # the first answer may have been lost
    assert error(refresh(api, first)) == (401, "TOKEN_INVALID")
    assert error(refresh(api, second)) == (401, "TOKEN_INVALID")


def test_logging_out_ends_the_session(api, brand, member):
    token = log_in(api, brand_id=brand.pk).json()["refresh"]

    response = api.post("auth/token/revoke", {"refresh": token})

    assert (response.status_code, response.content) == (204, b"")
    assert error(refresh(api, token)) == (401, "TOKEN_INVALID")


def test_logging_out_twice_succeeds(api, brand, member):
    token = log_in(api, brand_id=brand.pk).json()["refresh"]

    statuses = [api.post("auth/token/revoke", {"refresh": token}).status_code for _ in range(2)]

    assert statuses == [204, 204]


def test_access_token_cannot_be_used_to_refresh(api, brand, member):
    assert error(refresh(api, log_in(api, brand_id=brand.pk).json()["access"])) == (401, "TOKEN_INVALID")


# --- Registering -----------------------------------------------------------------------------------------------------

REGISTRATION = {"email": "Grace@Example.com", "password": "a compiler for everyone", "first_name": "Grace"}


@pytest.fixture
def no_email_confirmation(settings):
    """An installation that cannot send mail."""
    settings.REGISTRATION_CONFIRMS_EMAIL = False


def register(api, brand, **fields):
    return api.post("auth/register", {**REGISTRATION, "brand_id": brand.pk, **fields})


@pytest.mark.usefixtures("no_email_confirmation")
def test_registration_creates_an_enrolled_customer(api, brand):
    response = register(api, brand)

    user = User.objects.get(pk=response.json()["user_id"])
    assert response.status_code == 201
    assert (user.email, user.first_name, user.registered_brand) == ("grace@example.com", "Grace", brand)
    assert factories.account(user, brand).points == 0
    assert log_in(api, REGISTRATION["email"], REGISTRATION["password"]).status_code == 200


@pytest.mark.usefixtures("no_email_confirmation")
def test_registration_at_a_brand_with_manual_enrolment_creates_no_account(api):
    manual_brand = factories.brand(auto_enroll=False)

    user = User.objects.get(pk=register(api, manual_brand).json()["user_id"])

    assert not user.points_rows.exists()


@pytest.mark.usefixtures("no_email_confirmation")
def test_registration_rejects_a_taken_address(api, brand, member):
    response = register(api, brand, email=member.email.upper())

    assert error(response) == (400, "VALIDATION_ERROR")
    assert list(response.json()["details"]["fields"]) == ["email"]
    assert User.objects.count() == 1


@pytest.mark.usefixtures("no_email_confirmation")
@pytest.mark.parametrize("password", ["short", "1234567890", "password1234", "grace@example.com"])
def test_registration_rejects_a_weak_password(api, brand, password):
    response = register(api, brand, password=password)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert list(response.json()["details"]["fields"]) == ["password"]
    assert not User.objects.exists()


def test_length_of_an_address_is_checked_after_lowercasing(api, brand):
    address = f"{'İ' * 60}@{'.'.join(['b' * 60] * 3)}.com"

    response = register(api, brand, email=address)

    assert (len(address) < 254, len(address.lower()) > 254) == (True, True)
    assert error(response) == (400, "VALIDATION_ERROR")


@pytest.mark.usefixtures("no_email_confirmation")
def test_registration_cannot_create_staff(api, brand):
    response = register(api, brand, is_staff=True, is_superuser=True)

    user = User.objects.get(pk=response.json()["user_id"])
    assert (user.is_staff, user.is_superuser) == (False, False)


# --- Limits ----------------------------------------------------------------------------------------------------------


def test_eleventh_login_in_a_minute_is_rate_limited(api, brand, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": "10/minute"}
    for number in range(10):  # each call counts for the caller's address at the brand
        log_in(api, email=f"person{number}@example.com", password="wrong", brand_id=brand.pk)

    response = log_in(api, brand_id=brand.pk)

    assert error(response) == (429, "RATE_LIMITED")
    assert 0 < int(response["Retry-After"]) <= 60
