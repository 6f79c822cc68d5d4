"""Corrections: a brand's staff name its members, and have them confirm a new address; nobody is taken over by it."""

import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from brands import errors
from brands.audit_log import AuditContext
from brands.identity import login_throttle
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from loyalty.members import confirmations, corrections, erasure
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from tests.support import factories
from tests.support.api import error
from tests.support.factories import PASSWORD
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
LINK = re.compile(r"http://(\S+)/email/change/(\S+)")
NEW = "ada.lovelace@example.com"


@pytest.fixture(autouse=True)
def any_host(settings):
    settings.ALLOWED_HOSTS = ["*"]


@pytest.fixture
def customer(customer):
    customer.set_password(PASSWORD)
    customer.save()
    return customer


@pytest.fixture
def member(customer, brand):
    return UserPoints.objects.get(user=customer, brand=brand)


@pytest.fixture
def shared(customer):
    """Another brand of which the customer is a member too."""
    other = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=timezone.now())
    return other


@pytest.fixture
def mailed(box, work):
    """Recipient, text and link's token of each mail."""

    def look():
        work()
        texts = [(mail["To"], next(mail.iter_parts()).get_content()) for mail in box.mails]
        return [(to, words, (LINK.search(words) or [None, None, None])[2]) for to, words in texts]

    return look


def page(member, what):
    return reverse(
        f"admin:loyalty_userpoints_{ {'name': 'correct_name', 'address': 'change_address'}[what] }", args=[member.pk]
    )


def correct_name(member, person, first="Augusta", last="King", **more):
    told = {"first_name": first, "last_name": last, "reason": "As on her card", **more}
    return browser(person).post(page(member, "name"), told)


def ask_for(member, person, email=NEW, **more):
    return browser(person).post(page(member, "address"), {"email": email, "reason": "Ticket 12", **more})


def confirm(api, token, password=PASSWORD):
    return api.guest().post("auth/email/change/confirm", {"token": token, "password": password})


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_correct_a_name_and_say_why(brand, customer, member, role):
    User.objects.filter(pk=customer.pk).update(first_name="Adda")
    person = staff(brand, role=role)

    assert correct_name(member, person).status_code == 302

    entry = AuditLogEntry.objects.get(action="Name corrected")
    assert entry.changes == {"first_name": ["Adda", "Augusta"], "last_name": [None, "King"]}
    assert (entry.user, entry.reason, entry.brand) == (person, "As on her card", brand)
    assert "Augusta King" in text(browser(person).get(reverse("admin:loyalty_userpoints_change", args=[member.pk])))


def test_without_a_reason_nothing_is_corrected(brand, member):
    assert correct_name(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert ask_for(member, staff(brand), reason="").context["form"].errors.keys() == {"reason"}
    assert not AuditLogEntry.objects.filter(action="Name corrected").exists()
    assert not EmailConfirmation.objects.exists()


def test_printers_and_other_brands_correct_nobody(brand, member):
    for person in (staff(brand, role="printer"), staff(factories.brand())):
        assert correct_name(member, person).status_code in {403, 404, 302}
        assert ask_for(member, person).status_code in {403, 404, 302}
    member.refresh_from_db()
    assert member.first_name is None
    assert not EmailConfirmation.objects.exists()


def test_a_name_is_corrected_for_one_brand_alone(api, brand, customer, member, shared):
    User.objects.filter(pk=customer.pk).update(first_name="Ada")
    correct_name(member, staff(brand))

    customer.refresh_from_db()
    assert customer.first_name == "Ada"
    assert accounts.names_of(customer, brand.pk) == ("Augusta", "King")
    assert accounts.names_of(customer, shared.pk) == ("Ada", "")
    assert list(AuditLogEntry.objects.filter(action="Name corrected").values_list("brand", flat=True)) == [brand.pk]
    seen_there = text(
        browser(staff(shared)).get(
            reverse("admin:loyalty_userpoints_change", args=[customer.points_rows.get(brand=shared).pk])
        )
    )
    assert "Augusta" not in seen_there


def test_the_customers_own_name_counts_again_when_they_write_it(api, brand, customer, member, shared):
    correct_name(member, staff(brand))
    own = api.as_customer(customer)
    assert own.get("customer/profile").json()["data"]["first_name"] == "Augusta"

    own.call("PATCH", "customer/profile", data=b'{"first_name": "Ada"}')

    assert own.get("customer/profile").json()["data"]["first_name"] == "Ada"
    customer.refresh_from_db()
    assert accounts.names_of(customer, brand.pk) == ("Ada", "King")
    assert (customer.first_name, customer.last_name) == ("Ada", "")  # what only the brand wrote stays the brand's
    assert accounts.names_of(customer, shared.pk) == ("Ada", "")


def test_a_name_that_a_form_sends_back_as_shown_changes_no_other_brands(api, brand, customer, member, shared):
    User.objects.filter(pk=customer.pk).update(first_name="Ada", last_name="King")
    there = customer.points_rows.get(brand=shared)
    correct_name(there, staff(shared), first="Adelaide")
    correct_name(member, staff(brand), first="Buy at brand A")
    own = api.as_customer(customer)
    shown = own.get("customer/profile").json()["data"]

    sent_back = {"first_name": shown["first_name"], "last_name": shown["last_name"], "language": "de"}
    own.call("PATCH", "customer/profile", data=json.dumps(sent_back).encode())

    customer.refresh_from_db()
    assert (customer.first_name, customer.last_name) == ("Ada", "King")
    assert accounts.names_of(customer, brand.pk) == ("Buy at brand A", "King")
    assert accounts.names_of(customer, shared.pk) == ("Adelaide", "King")


def test_a_new_address_takes_effect_when_it_is_confirmed(api, brand, own, customer, member, mailed):
    old, token_before = customer.email, api.as_customer(customer)
    assert ask_for(member, staff(brand, role="support")).status_code == 302
    mails = {to: (words, token) for to, words, token in mailed()}
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
    token = next(token for to, _words, token in mailed() if to == "manager@evil.example")

    for guess in ["a guess of a password", "another guess", "", " "]:
        assert confirm(api, token, guess).status_code in {400, 429}
    api.post("auth/password/forgot", {"email": "manager@evil.example", "brand_id": brand.pk})
    recipients = [to for to, _words, _token in mailed()]

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
    token = next((token for to, _words, token in mails if to == NEW), None)

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
    first = next(token for to, _words, token in mailed() if to == "first@example.com")
    ask_for(member, staff(brand))

    assert error(confirm(api, first)) == (400, "VALIDATION_ERROR")


def test_a_link_takes_five_tries(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)
    EmailConfirmation.objects.update(tries=confirmations.TRIES)

    assert error(confirm(api, token)) == (400, "VALIDATION_ERROR")


def test_wrong_passwords_elsewhere_keep_nobody_from_a_new_address(api, brand, own, customer, member, mailed, settings):
    settings.LOGIN_TRIES_PER_DAY = 10
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)
    for _ in range(4):
        for _ in range(4):  # of a network each
            last = api.guest().post("auth/token", {"email": customer.email, "password": "wrong"})
    assert error(last)[0] == 429

    assert confirm(api, token).status_code == 200


def test_a_link_that_has_ended_counts_no_try(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)
    EmailConfirmation.objects.update(expires_at=timezone.now())

    answers = [error(confirm(api, token, "wrong")) for _ in range(login_throttle.FREE_TRIES + 1)]

    assert set(answers) == {(400, "VALIDATION_ERROR")}


def test_wrong_passwords_with_a_link_are_seen_by_the_brand_that_sent_it(api, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)

    confirm(api, token, "wrong")

    entry = AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address")
    assert entry.brand == brand


def test_a_wrong_password_tells_no_brand_that_a_member_works_elsewhere(
    api, brand, own, customer, member, mailed, shared
):
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)
    StaffRole.objects.create(user=customer, brand=shared, role="owner")
    User.objects.filter(pk=customer.pk).update(is_staff=True)

    confirm(api, token, "wrong")

    assert AuditLogEntry.objects.get(action__startswith="Wrong passwords for a new e-mail address").brand == brand


def test_links_to_a_new_password_end_with_the_address(api, brand, own, customer, member, mailed):
    """Else whoever reads the old mailbox could still set the password."""
    api.post("auth/password/forgot", {"email": customer.email, "brand_id": brand.pk})
    ask_for(member, staff(brand))
    words = mailed()
    reset = next(re.search(r"/password/new/(\S+)", text)[1] for _to, text, _token in words if "/password/new/" in text)
    confirm(api, next(token for to, _words, token in words if to == NEW))

    again = api.guest().post("auth/password/reset", {"token": reset, "password": "a long new phrase"})

    assert error(again) == (400, "VALIDATION_ERROR")


def test_customers_change_their_address_the_same_way(api, brand, own, customer, mailed):
    answer = api.as_customer(customer).post("auth/email/change", {"email": NEW.upper()})
    token = next(token for to, _words, token in mailed() if to == NEW)

    assert answer.status_code == 202
    assert confirm(api, token).status_code == 200
    customer.refresh_from_db()
    assert customer.email == NEW


def test_the_links_page_asks_for_the_password_and_works_without_scripts(client, brand, own, customer, member, mailed):
    ask_for(member, staff(brand))
    token = next(token for to, _words, token in mailed() if to == NEW)
    host = {"HTTP_HOST": brand.hostnames.get().hostname}

    assert b'name="password"' in client.get(f"/email/change/{token}", **host).content
    customer.refresh_from_db()
    assert customer.email != NEW
    wrong = client.post(f"/email/change/{token}", {"password": "no"}, **host)
    right = client.post(f"/email/change/{token}", {"password": PASSWORD}, **host)

    assert (wrong.status_code, right.status_code) == (400, 200)
    customer.refresh_from_db()
    assert customer.email == NEW


def test_a_hub_corrects_its_own_members(api, brand, own, customer, member, mailed):
    told = {"first_name": "Augusta", "email": NEW, "reason": "CRM"}
    answer = api.hub().call("PATCH", f"members/{customer.pk}", data=json.dumps(told).encode())

    assert answer.status_code == 200, answer.json()
    assert answer.json()["data"]["first_name"] == "Augusta"
    assert answer.json()["data"]["unconfirmed_email"] == NEW
    stranger = factories.customer(factories.brand())
    body = b'{"first_name": "X", "reason": "y"}'
    assert error(api.hub().call("PATCH", f"members/{stranger.pk}", data=body)) == (404, "USER_NOT_FOUND")
    assert error(api.app().call("PATCH", f"members/{customer.pk}", data=body)) == (403, "FORBIDDEN")


def test_a_hub_changes_one_members_name_a_few_times_a_day(api, brand, customer, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "name_correction": "2/day"}
    hub, neighbour = api.hub(), factories.customer(brand)

    def name(person, first):
        body = json.dumps({"first_name": first, "reason": "CRM"}).encode()
        return hub.call("PATCH", f"members/{person.pk}", data=body)

    assert [name(customer, first).status_code for first in ("Augusta", "Augusta", " Augusta ", "Byron")] == [200] * 4
    assert error(name(customer, "Ada")) == (429, "RATE_LIMITED")
    assert name(customer, "Byron").status_code == 200
    accounts.enrol(user_id=neighbour.pk, brand_id=brand.pk, at=timezone.now())
    assert name(neighbour, "Ada").status_code == 200


def test_an_erasure_takes_corrections_along(brand, own, customer, member, shared):
    correct_name(member, staff(brand), reason="Augusta King called")
    ask_for(member, staff(brand))

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == (None, None)
    assert not EmailConfirmation.objects.exists()
    assert "Augusta" not in str(list(AuditLogEntry.objects.values_list("changes", "reason", "row_name")))


def test_who_was_erased_is_corrected_no_more(brand, customer, member):
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))
    with pytest.raises(errors.UserNotFound):
        corrections.correct_name(
            account=member, first_name="A", last_name="B", audit_context=AuditContext(None, timezone.now())
        )
