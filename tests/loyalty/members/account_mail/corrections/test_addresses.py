"""Corrections of addresses: the member confirms a new one by a link; nobody is taken over by it."""

import re

import pytest
from django.utils import timezone

from brands.identity import login_throttle
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from loyalty.members import confirmations
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from tests.loyalty.members.account_mail.corrections.conftest import NEW, ask_for, page
from tests.support import factories
from tests.support.api import error
from tests.support.factories import PASSWORD
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def confirm(api, token, password=PASSWORD):
    return api.guest().post("auth/email/change/confirm", {"token": token, "password": password})


def test_a_new_address_takes_effect_when_it_is_confirmed(api, brand, own, customer, member, mailed):
    old, token_before = customer.email, api.as_customer(customer)
    assert ask_for(member, staff(brand, role="support")).status_code == 302
    mails = {to: (body, token) for to, body, token in mailed()}
    customer.refresh_from_db()
    assert customer.email == old
    assert set(mails) == {old, NEW}
    assert mails[old][1] is None
    token = mails[NEW][1]

    assert confirm(api, token).status_code == 200

    customer.refresh_from_db()
    assert (customer.email, bool(customer.email_verified_at)) == (NEW, True)
    assert error(token_before.get("customer/profile"))[0] == 401
    entry = AuditLogEntry.objects.get(action="E-mail address changed")
    assert (entry.changes, entry.brand) == ({"email": [old, NEW]}, brand)
    assert error(confirm(api, token))[0] == 400
    assert api.post("auth/token", {"email": NEW, "password": PASSWORD, "brand_id": brand.pk}).status_code == 200


def test_whoever_reads_the_new_mailbox_takes_over_nobody(api, brand, own, customer, member, shared, mailed):
    """A manager who gives a shared customer an address of their own gets the link, and no further."""
    old = customer.email
    ask_for(member, staff(brand, role="manager"), email="manager@evil.example")
    token = next(token for to, _text, token in mailed() if to == "manager@evil.example")

    for guess in ["a guess of a password", "another guess", "", " "]:
        assert confirm(api, token, guess).status_code in {400, 429}
    api.post("auth/password/forgot", {"email": "manager@evil.example", "brand_id": brand.pk})
    recipients = [to for to, _text, _token in mailed()]

    customer.refresh_from_db()
    assert customer.email == old
    assert recipients.count("manager@evil.example") == 1


@pytest.mark.parametrize("kind", ["plain", "shared", "staff elsewhere", "superuser", "address taken"])
def test_nobody_learns_what_a_member_is_elsewhere(api, brand, own, customer, member, mailed, kind):
    """The portal, the mail to the new address and every wrong password answer alike, whoever the member is."""
    if kind == "shared":
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    if kind == "staff elsewhere":
        other = factories.brand()
        User.objects.filter(pk=customer.pk).update(is_staff=True)
        customer.staff_roles.create(brand=other, role="owner")
    if kind == "superuser":
        User.objects.filter(pk=customer.pk).update(is_staff=True, is_superuser=True)
    if kind == "address taken":
        factories.customer(factories.brand(), email=NEW)
    answer = ask_for(member, staff(brand))
    shown = text(browser(staff(brand)).get(page(member, "address")))
    mails = mailed()
    token = next((token for to, _text, token in mails if to == NEW), None)

    assert answer.status_code == 302
    assert NEW in shown
    assert sorted(to for to, *_rest in mails) == sorted([customer.email, NEW])
    if kind == "address taken":
        assert token is None
        return
    wrong = confirm(api, token, "not the password of it")
    assert wrong.json()["details"]["fields"] == {"password": ["The password of the account is wrong."]}
    right = confirm(api, token)
    customer.refresh_from_db()
    changes = kind in {"plain", "shared"}
    assert (right.status_code, customer.email == NEW) == ((200, True) if changes else (400, False))


def test_a_colleagues_address_is_theirs_to_change(brand, customer, member):
    User.objects.filter(pk=customer.pk).update(is_staff=True)
    customer.staff_roles.create(brand=brand, role="manager")

    assert "colleague" in text(ask_for(member, staff(brand)))
    assert not EmailConfirmation.objects.exists()


def test_a_link_of_before_is_no_good_once_another_is_asked_for(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand), email="first@example.com")
    first = next(token for to, _text, token in mailed() if to == "first@example.com")
    ask_for(member, staff(brand))

    assert error(confirm(api, first)) == (400, "VALIDATION_ERROR")


def test_a_link_takes_five_tries(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)
    EmailConfirmation.objects.update(tries=confirmations.TRIES)

    assert error(confirm(api, token)) == (400, "VALIDATION_ERROR")


def test_wrong_passwords_elsewhere_keep_nobody_from_a_new_address(api, brand, own, customer, member, mailed, settings):
    settings.LOGIN_TRIES_PER_DAY = 10
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)
    for _ in range(4):
        for _ in range(4):  # of a network each
            last = api.guest().post("auth/token", {"email": customer.email, "password": "wrong"})
    assert error(last)[0] == 429

    assert confirm(api, token).status_code == 200


def test_a_link_that_has_ended_counts_no_try(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)
    EmailConfirmation.objects.update(expires_at=timezone.now())

    answers = [error(confirm(api, token, "wrong")) for _ in range(login_throttle.FREE_TRIES + 1)]

    assert set(answers) == {(400, "VALIDATION_ERROR")}


def test_wrong_passwords_with_a_link_are_seen_by_the_brand_that_sent_it(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)

    confirm(api, token, "wrong")

    entry = AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address")
    assert entry.brand == brand


def test_a_wrong_password_tells_no_brand_that_a_member_works_elsewhere(
    api, brand, own, customer, member, mailed, shared
):
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)
    StaffRole.objects.create(user=customer, brand=shared, role="owner")
    User.objects.filter(pk=customer.pk).update(is_staff=True)

    confirm(api, token, "wrong")

    assert AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address").brand == brand


def test_links_to_a_new_password_end_with_the_address(api, brand, own, customer, member, mailed):
    """Else whoever reads the old mailbox could still set the password."""
    api.post("auth/password/forgot", {"email": customer.email, "brand_id": brand.pk})
    ask_for(member, staff(brand))
    mails = mailed()
    reset = next(re.search(r"/password/new/(\S+)", text)[1] for _to, text, _token in mails if "/password/new/" in text)
    confirm(api, next(token for to, _text, token in mails if to == NEW))

    again = api.guest().post("auth/password/reset", {"token": reset, "password": "a long new phrase"})

    assert error(again) == (400, "VALIDATION_ERROR")


def test_customers_change_their_address_the_same_way(api, brand, own, customer, mailed):
    answer = api.as_customer(customer).post("auth/email/change", {"email": NEW.upper()})
    token = next(token for to, _text, token in mailed() if to == NEW)

    assert answer.status_code == 202
    assert confirm(api, token).status_code == 200
    customer.refresh_from_db()
    assert customer.email == NEW


def test_the_links_page_asks_for_the_password_and_works_without_scripts(client, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _text, token in mailed() if to == NEW)
    host = {"HTTP_HOST": brand.hostnames.get().hostname}

    assert b'name="password"' in client.get(f"/email/change/{token}", **host).content
    customer.refresh_from_db()
    assert customer.email != NEW
    wrong = client.post(f"/email/change/{token}", {"password": "no"}, **host)
    right = client.post(f"/email/change/{token}", {"password": PASSWORD}, **host)

    assert (wrong.status_code, right.status_code) == (400, 200)
    customer.refresh_from_db()
    assert customer.email == NEW
