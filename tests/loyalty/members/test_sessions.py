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


def test_login_gives_tokens_for_the_brand(api, brand, member):
    response = log_in(api, brand_id=brand.pk)

    body = response.json()
    assert response.status_code == 200
    assert (body["user_id"], body["brand_id"], body["token_type"]) == (member.pk, brand.pk, "Bearer")
    assert body["expires_in"] == 900
    assert response["Cache-Control"] == "no-store"


def test_access_token_opens_the_account(api, brand, member):
    access = log_in(api, brand_id=brand.pk).json()["access"]

    assert api.having(authorization=f"Bearer {access}").get("customer/loyalty/points").status_code == 200


def test_email_address_is_read_without_regard_to_case(api, brand, member):
    assert log_in(api, email="ADA@Example.com", brand_id=brand.pk).status_code == 200


def test_login_is_an_event(api, brand, member):
    log_in(api, brand_id=brand.pk)

    event = Event.objects.get()
    assert (event.detail_type, event.detail["arguments"]) == (
        "log-user-login",
        {"brand_id": brand.pk, "user_id": member.pk},
    )
    assert event.detail["payload"]["sessionId"] == str(LoginSession.objects.get().pk)


def test_staff_do_not_log_in_as_customers(api, brand):
    person = factories.user(email="ada@example.com", password=PASSWORD, is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role="support")

    assert error(log_in(api, brand_id=brand.pk)) == (401, "AUTHENTICATION_REQUIRED")
    assert not Event.objects.exists()


@pytest.mark.parametrize("fields", [{"password": "wrong"}, {"email": "nobody@example.com"}])
def test_wrong_address_and_wrong_password_get_one_answer(api, brand, member, fields):
    response = log_in(api, **fields, brand_id=brand.pk)

    assert error(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response.json()["message"] == "E-mail address or password is wrong."


def test_switched_off_user_gets_the_same_answer(api, brand, member):
    User.objects.update(is_active=False)

    assert error(log_in(api, brand_id=brand.pk)) == (401, "AUTHENTICATION_REQUIRED")


# --- At which brand --------------------------------------------------------------------------------------------------


def test_key_names_the_brand(api, brand, member):
    assert log_in(api.app().without("origin")).json()["brand_id"] == brand.pk


def test_key_and_stated_brand_must_agree(api, member):
    assert error(log_in(api.app(), brand_id=factories.brand().pk)) == (403, "BRAND_MISMATCH")


@pytest.mark.parametrize("origin", ["https://shop.example.com", "HTTPS://SHOP.example.com:8443"])
def test_origin_names_the_brand(api, member, origin):
    shop = factories.brand(hostname="shop.example.com")

    assert log_in(api.having(origin=origin)).json()["brand_id"] == shop.pk


def test_of_two_brands_on_a_host_the_port_tells_which(api, member):
    factories.brand(name="Alpha", hostname="shop.example.com")
    zeta = factories.brand(name="Zeta", hostname="shop.example.com:8443")

    assert log_in(api.having(origin="https://shop.example.com:8443")).json()["brand_id"] == zeta.pk


def test_only_brand_of_a_customer_needs_no_name(api, brand, member):
    assert log_in(api).json()["brand_id"] == brand.pk


def test_customer_of_two_brands_must_name_one(api, brand, member):
    factories.accounts.enrol(user_id=member.pk, brand_id=factories.brand().pk, at=member.date_joined)

    response = log_in(api)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert response.json()["details"] == {"field": "brand_id"}


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//a]b", "null", "é", "http://x:99999999"])
def test_origin_that_is_no_address_names_no_brand(api, brand, member, origin):
    assert log_in(api.having(origin=origin)).json()["brand_id"] == brand.pk


# --- Refreshing and logging out --------------------------------------------------------------------------------------


def test_refresh_gives_new_tokens(api, brand, member):
    first = log_in(api, brand_id=brand.pk).json()

    second = refresh(api, first["refresh"]).json()

    assert second["user_id"] == member.pk
    assert {first["access"], first["refresh"]}.isdisjoint({second["access"], second["refresh"]})


def test_second_use_of_a_refresh_token_ends_the_session(api, brand, member):
    first = log_in(api, brand_id=brand.pk).json()["refresh"]
    second = refresh(api, first).json()["refresh"]
    again = refresh(api, first)
    LoginSession.objects.update(rotated_at=timezone.now() - timedelta(minutes=1))

    assert again.status_code == 200  # the first answer could have been lost
    assert error(refresh(api, first)) == (401, "TOKEN_INVALID")
    assert error(refresh(api, second)) == (401, "TOKEN_INVALID")


def test_logging_out_ends_the_session(api, brand, member):
    token = log_in(api, brand_id=brand.pk).json()["refresh"]

    response = api.post("auth/token/revoke", {"refresh": token})

    assert (response.status_code, response.content) == (204, b"")
    assert error(refresh(api, token)) == (401, "TOKEN_INVALID")


def test_logging_out_twice_is_no_error(api, brand, member):
    token = log_in(api, brand_id=brand.pk).json()["refresh"]

    statuses = [api.post("auth/token/revoke", {"refresh": token}).status_code for _ in range(2)]

    assert statuses == [204, 204]


def test_access_token_refreshes_nothing(api, brand, member):
    assert error(refresh(api, log_in(api, brand_id=brand.pk).json()["access"])) == (401, "TOKEN_INVALID")


# --- Registering -----------------------------------------------------------------------------------------------------

GOOD = {"email": "Grace@Example.com", "password": "a compiler for everyone", "first_name": "Grace"}


@pytest.fixture
def unconfirmed(settings):
    """An installation that cannot send mail."""
    settings.REGISTRATION_CONFIRMS_EMAIL = False


def register(api, brand, **fields):
    return api.post("auth/register", {**GOOD, "brand_id": brand.pk, **fields})


@pytest.mark.usefixtures("unconfirmed")
def test_registering_makes_an_enrolled_customer(api, brand):
    response = register(api, brand)

    made = User.objects.get(pk=response.json()["user_id"])
    assert response.status_code == 201
    assert (made.email, made.first_name, made.registered_brand) == ("grace@example.com", "Grace", brand)
    assert factories.account(made, brand).points == 0
    assert log_in(api, GOOD["email"], GOOD["password"]).status_code == 200


@pytest.mark.usefixtures("unconfirmed")
def test_brand_that_enrols_by_hand_gets_a_customer_without_an_account(api):
    by_hand = factories.brand(auto_enroll=False)

    made = User.objects.get(pk=register(api, by_hand).json()["user_id"])

    assert not made.points_rows.exists()


@pytest.mark.usefixtures("unconfirmed")
def test_taken_address_is_refused(api, brand, member):
    response = register(api, brand, email=member.email.upper())

    assert error(response) == (400, "VALIDATION_ERROR")
    assert list(response.json()["details"]["fields"]) == ["email"]
    assert User.objects.count() == 1


@pytest.mark.usefixtures("unconfirmed")
@pytest.mark.parametrize("password", ["short", "1234567890", "password1234", "grace@example.com"])
def test_weak_password_is_refused(api, brand, password):
    response = register(api, brand, password=password)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert list(response.json()["details"]["fields"]) == ["password"]
    assert not User.objects.exists()


def test_address_that_grows_in_lowercase_is_measured_as_it_is_kept(api, brand):
    address = f"{'İ' * 60}@{'.'.join(['b' * 60] * 3)}.com"

    response = register(api, brand, email=address)

    assert (len(address) < 254, len(address.lower()) > 254) == (True, True)
    assert error(response) == (400, "VALIDATION_ERROR")


@pytest.mark.usefixtures("unconfirmed")
def test_somebody_who_registers_does_not_become_staff(api, brand):
    response = register(api, brand, is_staff=True, is_superuser=True)

    made = User.objects.get(pk=response.json()["user_id"])
    assert (made.is_staff, made.is_superuser) == (False, False)


# --- Limits ----------------------------------------------------------------------------------------------------------


def test_eleventh_login_in_a_minute_is_refused(api, brand, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": "10/minute"}
    for number in range(10):  # each call counts for the caller's address at the brand
        log_in(api, email=f"person{number}@example.com", password="wrong", brand_id=brand.pk)

    response = log_in(api, brand_id=brand.pk)

    assert error(response) == (429, "RATE_LIMITED")
    assert 0 < int(response["Retry-After"]) <= 60
