"""Invitations: an owner asks somebody to work for the brand, and only who has the mailbox can say yes."""

import pytest
from django.core import mail
from django.db import transaction
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from brands.models.tenants import BrandHostname
from brands.personal_data import INVITATIONS
from brands.staff_login import invitations, mails
from brands.staff_login.models import MAX_ATTEMPTS, Invitation, SignInSettings, StaffMail
from core.errors import Invalid
from core.redis import client
from tests.brands.staff_login.invitations.conftest import ADD, EMAIL, NEW, PASSWORDS, invite, invited, page_of
from tests.brands.staff_login.signing_in import give_password, is_in, links_sent
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, errors, staff, text


def role_of(email, brand):
    found = StaffRole.objects.filter(user__email=email, brand=brand).first()
    return found and found.role


# --- Accepting --------------------------------------------------------------------------------------------------------
def test_a_new_person_sets_a_password_and_is_in(brand, owner, window):
    link = invited(owner, brand, email="Nora@Example.com")
    window.get(link)  # a mail programme looks first

    response = window.post(link, {**PASSWORDS, "first_name": "Nora", "last_name": "Lund"})

    person = User.objects.get(email=EMAIL)
    assert response.headers["Location"] == "/admin/"
    assert is_in(window)
    assert (person.get_full_name(), person.is_staff, person.is_superuser) == ("Nora Lund", True, False)
    assert person.email_verified_at
    assert role_of(EMAIL, brand) == "printer"


def test_the_trail_tells_who_invited_and_who_came(brand, owner, window):
    window.post(invited(owner, brand, role="owner"), PASSWORDS)

    entries = AuditLogEntry.objects.filter(brand=brand).exclude(kind="brands.user").order_by("id")
    assert list(entries.values_list("user__email", "kind", "action")) == [
        (owner.email, "staff_login.invitation", "Added"),
        (EMAIL, "staff_login.invitation", "Invitation accepted"),
        (EMAIL, "brands.staffrole", "Added"),
    ]
    assert entries[0].changes["role"] == entries[2].changes["role"] == [None, "owner"]


def test_a_colleague_of_another_brand_logs_in_to_accept_and_keeps_the_password(brand, owner, window):
    person = staff(factories.brand(), role="support", email=EMAIL, password=factories.PASSWORD)
    link = invited(owner, brand)

    before = window.post(link, PASSWORDS)
    give_password(window, person)
    accepted = window.post(link)

    person.refresh_from_db()
    assert role_of(EMAIL, brand) == "printer"
    assert "Log in to accept" in text(before)
    assert accepted.headers["Location"] == "/admin/"
    assert person.check_password(factories.PASSWORD)


def test_the_login_can_be_undone_to_the_invitation(brand, owner, window):
    person = staff(factories.brand(), email=EMAIL, password=factories.PASSWORD)
    link = invited(owner, brand)

    window.get(f"/admin/login/?next={link}")
    sent = {"username": person.email, "password": factories.PASSWORD, "next": link}

    assert window.post(f"/admin/login/?next={link}", sent).headers["Location"] == link
    assert "Accept the invitation" in text(window.get(link))


def test_somebody_else_who_is_logged_in_cannot_accept(brand, owner):
    staff(factories.brand(), email=EMAIL)
    link = invited(owner, brand)

    response = browser(owner).post(link)

    assert "You used another way to log in." in text(response)
    assert role_of(EMAIL, brand) is None


def test_a_customers_account_gets_a_new_password_and_loses_its_sessions(brand, owner, window):
    """Whoever registered it may not be the one who has the mailbox."""
    elsewhere = factories.brand()
    person = factories.customer(elsewhere, email=EMAIL, password=factories.PASSWORD, first_name="Nora")
    link = invited(owner, brand)

    page = window.get(link)
    window.post(link, {**PASSWORDS, "first_name": "Eve"})

    person.refresh_from_db()
    assert "has a customer account" in text(page)
    assert (person.check_password(NEW), person.first_name, person.is_staff) == (True, "Nora", True)
    assert role_of(EMAIL, brand) == "printer"


def test_an_account_that_is_switched_off_is_not_switched_on(brand, owner, window):
    factories.customer(brand, email=EMAIL, is_active=False)

    assert "deactivated" in text(window.post(invited(owner, brand), PASSWORDS))
    assert not User.objects.get(email=EMAIL).is_staff


def test_a_brand_that_requires_a_second_factor_has_it_set_up_first(brand, owner, window):
    SignInSettings.objects.create(brand=brand, second_factor_required=True)

    response = window.post(invited(owner, brand), PASSWORDS)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"
    assert not is_in(window)


def test_a_colleague_without_a_second_factor_sets_one_up_at_once(brand, owner, window):
    person = staff(factories.brand(), email=EMAIL, password=factories.PASSWORD)
    SignInSettings.objects.create(brand=brand, second_factor_required=True)
    link = invited(owner, brand)
    give_password(window, person)

    window.post(link)

    assert not is_in(window)
    assert give_password(window, person).headers["Location"] == "/admin/second-factor/set-up/"


# --- Who may invite, and what they learn ------------------------------------------------------------------------------
@pytest.mark.parametrize("whose", ["nobody", "customer", "colleague elsewhere", "switched off"])
def test_the_answer_is_the_same_whoever_has_the_address(brand, owner, whose, django_assert_num_queries):
    made = {
        "nobody": lambda: None,
        "customer": lambda: factories.customer(factories.brand(), email=EMAIL),
        "colleague elsewhere": lambda: staff(factories.brand(), email=EMAIL),
        "switched off": lambda: factories.user(email=EMAIL, is_active=False),
    }[whose]
    made()
    client = browser(owner)

    with django_assert_num_queries(STATEMENTS):
        response = client.post(ADD, {"brand": brand.pk, "email": EMAIL, "role": "printer"})

    assert response.headers["Location"] == address("staff_login.invitation")
    assert [each.to for each in mail.outbox] == []
    assert Invitation.objects.get().state(at=timezone.now()) == "pending"


STATEMENTS = 26


def test_who_works_for_the_brand_or_is_invited_is_not_invited_again(brand, owner, colleague):
    invite(owner, brand)

    refused = [invite(owner, brand), invite(owner, brand, email=colleague.email)]

    assert [list(errors(each)) for each in refused] == [["email"], ["email"]]
    assert Invitation.objects.count() == 1


def test_a_role_must_be_chosen(brand, owner):
    assert list(errors(invite(owner, brand, role=""))) == ["role"]


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_invite(brand, role):
    assert invite(staff(brand, role=role), brand).status_code == 403


def test_an_owner_invites_for_their_own_brand_only(brand, owner):
    assert list(errors(invite(owner, factories.brand()))) == ["brand"]


def test_an_owner_elsewhere_finds_no_invitation(brand, owner):
    invite(owner, brand)
    other = browser(staff(factories.brand()))

    answers = [other.post(page_of(Invitation.objects.get(), what)).status_code for what in ("send", "revoke", "change")]

    assert answers == [404, 404, 404]
    assert EMAIL not in text(other.get(address("staff_login.invitation")))


def test_the_list_shows_what_became_of_each(brand, owner, window, time_machine):
    window.post(invited(owner, brand), PASSWORDS)
    invite(owner, brand, email="late@example.com")
    browser(owner).get(address("staff_login.invitation"))
    pending = browser(owner).get(address("staff_login.invitation") + "?state=pending")
    time_machine.move_to(timezone.now() + invitations.VALIDITY, tick=True)
    expired = browser(owner).get(address("staff_login.invitation") + "?state=expired")

    assert [row.email for row in pending.context["cl"].result_list] == ["late@example.com"]
    assert [row.email for row in expired.context["cl"].result_list] == ["late@example.com"]


@pytest.mark.parametrize("limit", ["invitation", "invitation_address"])
def test_invitations_are_bounded(brand, owner, settings, limit):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, limit: "1/hour"}
    redis = client.client()
    for key in redis.scan_iter("*invitation*"):
        redis.delete(key)
    invite(owner, brand)

    response = browser(owner).post(page_of(Invitation.objects.get(), "send"))

    assert "Too many requests" in text(response)
    assert StaffMail.objects.filter(kind="invitation").count() == 1


def test_a_brands_hostname_gets_no_link(brand, owner, settings):
    settings.ALLOWED_HOSTS = ["*"]
    client = Client(HTTP_HOST=BrandHostname.objects.get(brand=brand).hostname)
    client.force_login(owner)

    client.post(ADD, {"brand": brand.pk, "email": EMAIL, "role": "printer"})

    assert not Invitation.objects.exists()


def test_old_invitations_are_forgotten(brand, owner):
    invite(owner, brand)
    at = Invitation.objects.get().expires_at + invitations.RETENTION

    assert invitations.purge_old(at=at) == 0
    assert invitations.purge_old(at=at + invitations.VALIDITY) == 2  # with its mail


def test_a_person_is_told_of_their_invitations_and_forgotten_by_the_brand_alone(brand, owner):
    person, other = factories.customer(brand, email=EMAIL), factories.brand()
    invite(owner, brand)
    invite(staff(other), other)

    [exported] = INVITATIONS.export(person.pk, brand.pk)
    INVITATIONS.erase(person.pk, brand.pk, to=person.pk, at=timezone.now())

    assert (exported["role"], exported["state"]) == ("printer", "pending")
    assert Invitation.objects.get().brand == other


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_invite_the_same_address_at_once_make_one_invitation(brand):
    def create(_number):
        with transaction.atomic():
            return invitations.create(brand=brand, email=EMAIL, role="owner", by=None, at=timezone.now())

    results = at_once(create, range(8))

    assert sum(isinstance(each, Invitation) for each in results) == 1
    assert all(isinstance(each, Invitation | Invalid) for each in results)


# --- A mail that cannot be sent ---------------------------------------------------------------------------------------
def mail_column(owner):
    return text(browser(owner).get(address("staff_login.invitation")))


def lose(settings):
    """From now on there is no mail server."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9


def find_again(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def test_an_owner_sees_what_became_of_the_mail_and_sends_it_again(brand, owner, settings, window):
    lose(settings)
    invite(owner, brand)
    assert "Waiting" in mail_column(owner)
    mails.send_due(at=timezone.now())
    assert "Failed so far; retried every minute" in mail_column(owner)
    StaffMail.objects.update(attempts=MAX_ATTEMPTS)
    Invitation.objects.update(failed_mails=MAX_ATTEMPTS)
    assert "Failed: check the address and send it again" in mail_column(owner)
    assert mails.send_due(at=timezone.now()) == 0

    find_again(settings)
    browser(owner).post(page_of(Invitation.objects.get(), "send"))
    [link] = links_sent()

    assert ">Sent<" in mail_column(owner).replace("\n", "").replace(" ", "")
    assert StaffMail.objects.count() == 1
    window.post(link, PASSWORDS)
    assert role_of(EMAIL, brand) == "printer"


def test_a_mail_that_failed_at_first_is_sent_when_the_server_is_back(brand, owner, settings, window):
    lose(settings)
    invite(owner, brand)
    mails.send_due(at=timezone.now())
    find_again(settings)

    [link] = links_sent()

    window.post(link, PASSWORDS)
    assert role_of(EMAIL, brand) == "printer"
