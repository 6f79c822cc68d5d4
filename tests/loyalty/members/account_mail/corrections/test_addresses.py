"""Corrections of e-mail addresses: the member confirms by a link, and no account can be taken over."""

import re

import pytest
from django.utils import timezone

from brands.identity import login_throttle
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from loyalty.members import confirmations
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from tests.loyalty.members.account_mail.corrections.conftest import NEW_EMAIL, page, request_address_change
from tests.support import factories
from tests.support.api import error
from tests.support.factories import PASSWORD
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def confirm(api, token, password=PASSWORD):
    return api.guest().post("auth/email/change/confirm", {"token": token, "password": password})


def test_new_address_takes_effect_when_it_is_confirmed(api, brand, own, customer, member, read_mails):
    old_email, old_session = customer.email, api.as_customer(customer)
    assert request_address_change(member, staff(brand, role="support")).status_code == 302
    mails = {to: (body, token) for to, body, token in read_mails()}
    customer.refresh_from_db()
    assert customer.email == old_email
    assert set(mails) == {old_email, NEW_EMAIL}
    assert mails[old_email][1] is None
    token = mails[NEW_EMAIL][1]

    assert confirm(api, token).status_code == 200

    customer.refresh_from_db()
    assert (customer.email, bool(customer.email_verified_at)) == (NEW_EMAIL, True)
    assert error(old_session.get("customer/profile"))[0] == 401
    entry = AuditLogEntry.objects.get(action="E-mail address changed")
    assert (entry.changes, entry.brand) == ({"email": [old_email, NEW_EMAIL]}, brand)
    assert error(confirm(api, token))[0] == 400
    assert api.post("auth/token", {"email": NEW_EMAIL, "password": PASSWORD, "brand_id": brand.pk}).status_code == 200


def test_reading_the_new_mailbox_does_not_give_access_to_the_account(
    api, brand, own, customer, member, other_brand, read_mails
):
    """A manager who sets their own address for a shared customer gets the link, but not the account."""
    old_email = customer.email
    request_address_change(member, staff(brand, role="manager"), email="manager@evil.example")
    token = next(token for to, _text, token in read_mails() if to == "manager@evil.example")

    for guess in ["a guess of a password", "another guess", "", " "]:
        assert confirm(api, token, guess).status_code in {400, 429}
    api.post("auth/password/forgot", {"email": "manager@evil.example", "brand_id": brand.pk})
    recipients = [to for to, _text, _token in read_mails()]

    customer.refresh_from_db()
    assert customer.email == old_email
    assert recipients.count("manager@evil.example") == 1


@pytest.mark.parametrize("kind", ["plain", "shared", "staff elsewhere", "superuser", "address taken"])
def test_correction_does_not_reveal_what_a_member_is_at_other_brands(
    api, brand, own, customer, member, read_mails, kind
):
    """The portal, the mail to the new address and the error for a wrong password are the same for every member."""
    if kind == "shared":
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    if kind == "staff elsewhere":
        third_brand = factories.brand()
        User.objects.filter(pk=customer.pk).update(is_staff=True)
        customer.staff_roles.create(brand=third_brand, role="owner")
    if kind == "superuser":
        User.objects.filter(pk=customer.pk).update(is_staff=True, is_superuser=True)
    if kind == "address taken":
        factories.customer(factories.brand(), email=NEW_EMAIL)
    answer = request_address_change(member, staff(brand))
    address_page = text(browser(staff(brand)).get(page(member, "address")))
    mails = read_mails()
    token = next((token for to, _text, token in mails if to == NEW_EMAIL), None)

    assert answer.status_code == 302
    assert NEW_EMAIL in address_page
    assert sorted(to for to, *_content in mails) == sorted([customer.email, NEW_EMAIL])
    if kind == "address taken":
        assert token is None
        return
    wrong = confirm(api, token, "not the password of it")
    assert wrong.json()["details"]["fields"] == {"password": ["The password of the account is wrong."]}
    right = confirm(api, token)
    customer.refresh_from_db()
    is_allowed = kind in {"plain", "shared"}
    assert (right.status_code, customer.email == NEW_EMAIL) == ((200, True) if is_allowed else (400, False))


def test_staff_cannot_change_the_address_of_a_colleague(brand, customer, member):
    User.objects.filter(pk=customer.pk).update(is_staff=True)
    customer.staff_roles.create(brand=brand, role="manager")

    assert "colleague" in text(request_address_change(member, staff(brand)))
    assert not EmailConfirmation.objects.exists()


def test_new_request_invalidates_the_earlier_link(api, brand, own, customer, member, read_mails):
    request_address_change(member, staff(brand), email="first@example.com")
    first_token = next(token for to, _text, token in read_mails() if to == "first@example.com")
    request_address_change(member, staff(brand))

    assert error(confirm(api, first_token)) == (400, "VALIDATION_ERROR")


def test_link_is_rejected_after_the_maximum_of_tries(api, brand, own, customer, member, read_mails):
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)
    EmailConfirmation.objects.update(tries=confirmations.TRIES)

    assert error(confirm(api, token)) == (400, "VALIDATION_ERROR")


def test_login_throttle_does_not_block_confirming_a_new_address(
    api, brand, own, customer, member, read_mails, settings
):
    settings.LOGIN_TRIES_PER_DAY = 10
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)
    for _ in range(4):
        for _ in range(4):
            last = api.guest().post("auth/token", {"email": customer.email, "password": "wrong"})
    assert error(last)[0] == 429

    assert confirm(api, token).status_code == 200


def test_expired_link_counts_no_tries(api, brand, own, customer, member, read_mails):
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)
    EmailConfirmation.objects.update(expires_at=timezone.now())

    answers = [error(confirm(api, token, "wrong")) for _ in range(login_throttle.FREE_TRIES + 1)]

    assert set(answers) == {(400, "VALIDATION_ERROR")}


def test_wrong_passwords_are_logged_for_the_brand_that_sent_the_link(api, brand, own, customer, member, read_mails):
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)

    confirm(api, token, "wrong")

    entry = AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address")
    assert entry.brand == brand


def test_wrong_password_for_staff_of_another_brand_is_logged_as_usual(
    api, brand, own, customer, member, read_mails, other_brand
):
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)
    StaffRole.objects.create(user=customer, brand=other_brand, role="owner")
    User.objects.filter(pk=customer.pk).update(is_staff=True)

    confirm(api, token, "wrong")

    assert AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address").brand == brand


def test_change_of_address_invalidates_password_reset_links(api, brand, own, customer, member, read_mails):
    """Otherwise anyone who reads the old mailbox could still set the password."""
    api.post("auth/password/forgot", {"email": customer.email, "brand_id": brand.pk})
    request_address_change(member, staff(brand))
    mails = read_mails()
    reset_token = next(
        re.search(r"/password/new/(\S+)", text)[1] for _to, text, _token in mails if "/password/new/" in text
    )
    confirm(api, next(token for to, _text, token in mails if to == NEW_EMAIL))

    again = api.guest().post("auth/password/reset", {"token": reset_token, "password": "a long new phrase"})

    assert error(again) == (400, "VALIDATION_ERROR")


def test_customer_changes_their_address_by_a_confirmation_link(api, brand, own, customer, read_mails):
    answer = api.as_customer(customer).post("auth/email/change", {"email": NEW_EMAIL.upper()})
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)

    assert answer.status_code == 202
    assert confirm(api, token).status_code == 200
    customer.refresh_from_db()
    assert customer.email == NEW_EMAIL


def test_confirmation_page_requires_the_password_and_no_scripts(client, brand, own, customer, member, read_mails):
    request_address_change(member, staff(brand))
    token = next(token for to, _text, token in read_mails() if to == NEW_EMAIL)
    host = {"HTTP_HOST": brand.hostnames.get().hostname}

    assert b'name="password"' in client.get(f"/email/change/{token}", **host).content
    customer.refresh_from_db()
    assert customer.email != NEW_EMAIL
    wrong = client.post(f"/email/change/{token}", {"password": "no"}, **host)
    right = client.post(f"/email/change/{token}", {"password": PASSWORD}, **host)

    assert (wrong.status_code, right.status_code) == (400, 200)
    customer.refresh_from_db()
    assert customer.email == NEW_EMAIL
