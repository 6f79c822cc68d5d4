"""Invitations: an owner invites a user to work for the brand, and only the owner of the mailbox can accept."""

import pytest
from django.core import mail
from django.db import transaction
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.credentials import LoginSession
from brands.models.people import StaffRole, User
from brands.models.tenants import BrandHostname
from brands.personal_data import INVITATIONS
from brands.staff_login import invitations, mails
from brands.staff_login.models import MAX_ATTEMPTS, Invitation, SignInSettings, StaffMail
from core.errors import Invalid
from core.redis import client
from tests.brands.staff_login.invitations.conftest import (
    ADD,
    EMAIL,
    NEW_PASSWORD,
    PASSWORDS,
    invitation_link,
    invite,
    page_of,
)
from tests.brands.staff_login.signing_in import is_logged_in, links_sent, submit_password
from tests.support import factories
from tests.support.api import Api, error
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, staff, text


def role_of(email, brand):
    staff_role = StaffRole.objects.filter(user__email=email, brand=brand).first()
    return staff_role and staff_role.role


# --- Accepting --------------------------------------------------------------------------------------------------------
def test_new_user_sets_a_password_and_is_logged_in(brand, owner, web_client):
    link = invitation_link(owner, brand, email="Nora@Example.com")
    web_client.get(link)  # a mail program opens the link first

    response = web_client.post(link, {**PASSWORDS, "first_name": "Nora", "last_name": "Lund"})

    user = User.objects.get(email=EMAIL)
    assert response.headers["Location"] == "/admin/"
    assert is_logged_in(web_client)
    assert (user.get_full_name(), user.is_staff, user.is_superuser) == ("Nora Lund", True, False)
    assert user.email_verified_at
    assert role_of(EMAIL, brand) == "printer"


def test_audit_log_names_the_inviting_and_the_invited_user(brand, owner, web_client):
    web_client.post(invitation_link(owner, brand, role="owner"), PASSWORDS)

    entries = AuditLogEntry.objects.filter(brand=brand).exclude(kind="brands.user").order_by("id")
    assert list(entries.values_list("user__email", "kind", "action")) == [
        (owner.email, "staff_login.invitation", "Added"),
        (EMAIL, "staff_login.invitation", "Invitation accepted"),
        (EMAIL, "brands.staffrole", "Added"),
    ]
    assert entries[0].changes["role"] == entries[2].changes["role"] == [None, "owner"]


def test_staff_of_another_brand_log_in_to_accept_with_their_own_password(brand, owner, web_client):
    user = staff(factories.brand(), role="support", email=EMAIL, password=factories.PASSWORD)
    link = invitation_link(owner, brand)

    before = web_client.post(link, PASSWORDS)
    submit_password(web_client, user)
    accepted = web_client.post(link)

    user.refresh_from_db()
    assert role_of(EMAIL, brand) == "printer"
    assert "Log in to accept" in text(before)
    assert accepted.headers["Location"] == "/admin/"
    assert user.check_password(factories.PASSWORD)


def test_login_leads_back_to_the_invitation(brand, owner, web_client):
    user = staff(factories.brand(), email=EMAIL, password=factories.PASSWORD)
    link = invitation_link(owner, brand)

    web_client.get(f"/admin/login/?next={link}")
    form_data = {"username": user.email, "password": factories.PASSWORD, "next": link}

    assert web_client.post(f"/admin/login/?next={link}", form_data).headers["Location"] == link
    assert "Accept the invitation" in text(web_client.get(link))


def test_another_logged_in_user_cannot_accept(brand, owner):
    staff(factories.brand(), email=EMAIL)
    link = invitation_link(owner, brand)

    response = browser(owner).post(link)

    assert "You used another way to log in." in text(response)
    assert role_of(EMAIL, brand) is None


def test_account_of_a_customer_gets_a_new_password_and_its_sessions_end(brand, owner, web_client):
    """The account may have been registered by someone without access to the mailbox."""
    other_brand = factories.brand()
    user = factories.customer(other_brand, email=EMAIL, password=factories.PASSWORD, first_name="Nora")
    earlier_browser, earlier_app = browser(user), Api(other_brand).as_customer(user)
    assert earlier_app.get("customer/profile").status_code == 200
    link = invitation_link(owner, brand)

    page = web_client.get(link)
    web_client.post(link, {**PASSWORDS, "first_name": "Eve"})

    user.refresh_from_db()
    assert is_logged_in(web_client)
    assert not is_logged_in(earlier_browser)
    assert error(earlier_app.get("customer/profile")) == (401, "TOKEN_INVALID")
    assert LoginSession.objects.get().revoked_at
    assert "has a customer account" in text(page)
    assert (user.check_password(NEW_PASSWORD), user.first_name, user.is_staff) == (True, "Nora", True)
    assert role_of(EMAIL, brand) == "printer"


def test_deactivated_account_is_not_reactivated(brand, owner, web_client):
    factories.customer(brand, email=EMAIL, is_active=False)

    assert "deactivated" in text(web_client.post(invitation_link(owner, brand), PASSWORDS))
    assert not User.objects.get(email=EMAIL).is_staff


def test_invitation_does_not_bring_back_roles_for_other_brands(brand, owner, web_client):
    """The operator ended the account's access to the portal; its roles remained."""
    user = staff(factories.brand(), role="owner", email=EMAIL)
    User.objects.filter(pk=user.pk).update(is_staff=False)

    assert "deactivated" in text(web_client.post(invitation_link(owner, brand), PASSWORDS))
    assert not User.objects.get(email=EMAIL).is_staff
    assert role_of(EMAIL, brand) is None


def test_new_user_sets_up_a_required_second_factor_first(brand, owner, web_client):
    SignInSettings.objects.create(brand=brand, second_factor_required=True)

    response = web_client.post(invitation_link(owner, brand), PASSWORDS)

    assert response.headers["Location"] == "/admin/second-factor/set-up/"
    assert not is_logged_in(web_client)


def test_existing_user_sets_up_a_required_second_factor_at_once(brand, owner, web_client):
    user = staff(factories.brand(), email=EMAIL, password=factories.PASSWORD)
    SignInSettings.objects.create(brand=brand, second_factor_required=True)
    link = invitation_link(owner, brand)
    submit_password(web_client, user)

    web_client.post(link)

    assert not is_logged_in(web_client)
    assert submit_password(web_client, user).headers["Location"] == "/admin/second-factor/set-up/"


# --- Who may invite, and what they learn ------------------------------------------------------------------------------
@pytest.mark.parametrize("account", ["nobody", "customer", "colleague elsewhere", "switched off"])
def test_response_does_not_reveal_whose_address_is_invited(brand, owner, account, django_assert_num_queries):
    create_account = {
        "nobody": lambda: None,
        "customer": lambda: factories.customer(factories.brand(), email=EMAIL),
        "colleague elsewhere": lambda: staff(factories.brand(), email=EMAIL),
        "switched off": lambda: factories.user(email=EMAIL, is_active=False),
    }[account]
    create_account()
    client = browser(owner)

    with django_assert_num_queries(STATEMENTS):
        response = client.post(ADD, {"brand": brand.pk, "email": EMAIL, "role": "printer"})

    assert response.headers["Location"] == address("staff_login.invitation")
    assert [each.to for each in mail.outbox] == []
    assert Invitation.objects.get().state(at=timezone.now()) == "pending"


STATEMENTS = 26


def test_colleague_or_invited_user_cannot_be_invited_again(brand, owner, colleague):
    invite(owner, brand)

    rejected = [invite(owner, brand), invite(owner, brand, email=colleague.email)]

    assert [list(errors(each)) for each in rejected] == [["email"], ["email"]]
    assert Invitation.objects.count() == 1


def test_role_must_be_chosen(brand, owner):
    assert list(errors(invite(owner, brand, role=""))) == ["role"]


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_can_invite(brand, role):
    assert invite(staff(brand, role=role), brand).status_code == 403


def test_owner_can_invite_only_for_their_own_brand(brand, owner):
    assert list(errors(invite(owner, factories.brand()))) == ["brand"]


def test_owner_of_another_brand_has_no_access_to_an_invitation(brand, owner):
    invite(owner, brand)
    other = browser(staff(factories.brand()))

    answers = [
        other.post(page_of(Invitation.objects.get(), action)).status_code for action in ("send", "revoke", "change")
    ]

    assert answers == [404, 404, 404]
    assert EMAIL not in text(other.get(address("staff_login.invitation")))


def test_list_filters_invitations_by_state(brand, owner, web_client, time_machine):
    web_client.post(invitation_link(owner, brand), PASSWORDS)
    invite(owner, brand, email="late@example.com")
    browser(owner).get(address("staff_login.invitation"))
    pending = browser(owner).get(address("staff_login.invitation") + "?state=pending")
    time_machine.move_to(timezone.now() + invitations.VALIDITY, tick=True)
    expired = browser(owner).get(address("staff_login.invitation") + "?state=expired")

    assert [row.email for row in pending.context["cl"].result_list] == ["late@example.com"]
    assert [row.email for row in expired.context["cl"].result_list] == ["late@example.com"]


def test_invitation_is_found_however_its_address_is_capitalised(brand, owner):
    invite(owner, brand)

    page = browser(owner).get(address("staff_login.invitation"), {"q": EMAIL.capitalize()})

    assert [row.email for row in page.context["cl"].result_list] == [EMAIL]


@pytest.mark.parametrize("limit", ["invitation", "invitation_address"])
def test_invitations_are_rate_limited(brand, owner, settings, limit):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, limit: "1/hour"}
    redis = client.client()
    for key in redis.scan_iter("*invitation*"):
        redis.delete(key)
    invite(owner, brand)

    response = browser(owner).post(page_of(Invitation.objects.get(), "send"))

    assert "Too many requests" in text(response)
    assert StaffMail.objects.filter(kind="invitation").count() == 1


def test_no_invitation_is_created_at_a_brands_hostname(brand, owner, settings):
    settings.ALLOWED_HOSTS = ["*"]
    client = Client(HTTP_HOST=BrandHostname.objects.get(brand=brand).hostname)
    client.force_login(owner)

    client.post(ADD, {"brand": brand.pk, "email": EMAIL, "role": "printer"})

    assert not Invitation.objects.exists()


def test_old_invitations_are_purged(brand, owner):
    invite(owner, brand)
    at = Invitation.objects.get().expires_at + invitations.RETENTION

    assert invitations.purge_old(at=at) == 0
    assert invitations.purge_old(at=at + invitations.VALIDITY) == 2  # the invitation and its mail


def test_invitations_are_exported_and_erased_for_one_brand_alone(brand, owner):
    user, other = factories.customer(brand, email=EMAIL), factories.brand()
    invite(owner, brand)
    invite(staff(other), other)

    [exported] = INVITATIONS.export(user.pk, brand.pk)
    INVITATIONS.erase(user.pk, brand.pk, to=user.pk, at=timezone.now())

    assert (exported["role"], exported["state"]) == ("printer", "pending")
    assert Invitation.objects.get().brand == other


@pytest.mark.django_db(transaction=True)
def test_concurrent_invitations_of_the_same_address_create_only_one(brand):
    def create(_number):
        with transaction.atomic():
            return invitations.create(brand=brand, email=EMAIL, role="owner", by=None, at=timezone.now())

    results = run_concurrently(create, range(8))

    assert sum(isinstance(each, Invitation) for each in results) == 1
    assert all(isinstance(each, Invitation | Invalid) for each in results)


# --- A mail that cannot be sent ---------------------------------------------------------------------------------------
def mail_column(owner):
    return text(browser(owner).get(address("staff_login.invitation")))


def break_mail_server(settings):
    """Use a mail server that does not exist."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9


def restore_mail_server(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def test_owner_sees_the_state_of_the_mail_and_can_send_it_again(brand, owner, settings, web_client):
    break_mail_server(settings)
    invite(owner, brand)
    assert "Waiting" in mail_column(owner)
    mails.send_due(at=timezone.now())
    assert "Failed so far; retried every minute" in mail_column(owner)
    StaffMail.objects.update(attempts=MAX_ATTEMPTS)
    Invitation.objects.update(failed_mails=MAX_ATTEMPTS)
    assert "Failed: check the address and send it again" in mail_column(owner)
    assert mails.send_due(at=timezone.now()) == 0

    restore_mail_server(settings)
    browser(owner).post(page_of(Invitation.objects.get(), "send"))
    [link] = links_sent()

    assert ">Sent<" in mail_column(owner).replace("\n", "").replace(" ", "")
    assert "expires_at" in AuditLogEntry.objects.get(action="Sent again").changes
    assert StaffMail.objects.count() == 1
    web_client.post(link, PASSWORDS)
    assert role_of(EMAIL, brand) == "printer"


def test_failed_mail_is_sent_when_the_server_is_available_again(brand, owner, settings, web_client):
    break_mail_server(settings)
    invite(owner, brand)
    mails.send_due(at=timezone.now())
    restore_mail_server(settings)

    [link] = links_sent()

    web_client.post(link, PASSWORDS)
    assert role_of(EMAIL, brand) == "printer"
