"""A mail that cannot be sent, which an owner or a customer of any brand may cause, delays no other mail."""

import pytest
from celery import current_app
from django.core import mail
from django.db import OperationalError
from django.utils import timezone

from brands.staff_login import invitations, mails
from brands.staff_login.models import Invitation, StaffMail
from tests.support import factories
from tests.support.fakes.fake_providers import mailbox
from tests.support.portal import address, browser, errors, staff

pytestmark = pytest.mark.django_db
# Looks like an address, and decodes to one with a line break.
BROKEN = "=?utf-8?q?=0abcc?=@example.com"
PORTAL = "https://portal.example.com"
INVALID_ADDRESS = "No e-mail can be sent to this address. Check its spelling."


@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


@pytest.fixture
def mail_server(settings):
    with mailbox() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        yield running


def invite(brand, owner, email):
    """Create an invitation that no form has checked."""
    invitation = invitations.create(brand=brand, email=email, role="printer", by=owner, at=timezone.now())
    mails.write_invitation(invitation=invitation, origin=PORTAL)
    return invitation


def write(user):
    return mails.write(user=user, kind=StaffMail.Kind.NOTIFICATION, origin=PORTAL, text=lambda: "Ready.")


def test_undeliverable_mail_does_not_delay_others(brand, owner, colleague, mail_server):
    broken = invite(brand, owner, BROKEN)
    for number in range(3):
        invite(brand, owner, f"{number}@example.com")
        mail_server.rejections[f"{number}@example.com"] = "550 no such user"
    write(colleague)

    assert [mails.send_due(at=timezone.now()) for _ in range(2)] == [1, 0]

    assert mail_server.recipients == [colleague.email]
    broken.refresh_from_db()
    assert (broken.mailed_at, broken.failed_mails) == (None, 2)
    assert StaffMail.objects.get(invitation=broken).attempts == 2


def test_no_other_mail_is_tried_without_a_server(colleague, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    first, second = write(colleague), write(colleague)

    assert mails.send_due(at=timezone.now()) == 0
    for mail_, attempts in ((first, 1), (second, 0)):
        mail_.refresh_from_db()
        assert mail_.attempts == attempts


@pytest.mark.parametrize("reply_to", ["recipient", "content"])
@pytest.mark.parametrize(("code", "tried"), [(451, [1, 0]), (550, [1, 1])])
def test_only_a_permanent_reply_rejects_a_single_mail(colleague, mail_server, reply_to, code, tried):
    """A temporary one may be the server's answer to every mail."""
    staff_mails = write(colleague), write(colleague)
    if reply_to == "recipient":
        mail_server.rejections[colleague.email] = f"{code} not this one"
    else:
        mail_server.answers.extend([f"{code} not this one"] * 2)

    assert mails.send_due(at=timezone.now()) == 0
    for staff_mail in staff_mails:
        staff_mail.refresh_from_db()
    assert [each.attempts for each in staff_mails] == tried


@pytest.mark.parametrize("error", [ConnectionResetError, ValueError])
def test_trouble_with_the_broker_does_not_fail_a_request(
    colleague, monkeypatch, error, django_capture_on_commit_callbacks
):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr(current_app, "send_task", fail)

    with django_capture_on_commit_callbacks(execute=True):
        staff_mail = write(colleague)

    assert StaffMail.objects.filter(pk=staff_mail.pk, attempts=0).exists()


def test_mail_that_cannot_be_rendered_does_not_delay_others(colleague, monkeypatch):
    render = mails.render_to_string
    answers = iter([KeyError("no such word")])

    def failing_once(*args):
        for error in answers:
            raise error
        return render(*args)

    first, second = write(colleague), write(colleague)
    monkeypatch.setattr(mails, "render_to_string", failing_once)

    assert mails.send_due(at=timezone.now()) == 1
    first.refresh_from_db()
    assert (first.attempts, first.sent_at) == (1, None)
    second.refresh_from_db()
    assert second.sent_at


def test_database_outage_costs_no_attempt(colleague, monkeypatch):
    def lose_connection(*_args):
        raise OperationalError("the connection is lost")

    staff_mail = write(colleague)
    monkeypatch.setattr(mails, "render_to_string", lose_connection)

    with pytest.raises(OperationalError):
        mails.send_due(at=timezone.now())
    staff_mail.refresh_from_db()
    assert staff_mail.attempts == 0


def test_subject_is_one_line_even_with_a_line_break_in_the_brands_name(owner):
    brand = factories.brand(name="North\rBcc: all@example.com")
    invite(brand, None, "nora@example.com")

    assert mails.send_due(at=timezone.now()) == 1
    assert "North Bcc: all@example.com" in mail.outbox[0].subject


@pytest.mark.parametrize("email", [BROKEN, '"=?utf-8?q?=0a?="@example.com', "=?utf-8?q??=@example.com"])
def test_undeliverable_address_cannot_be_invited(brand, owner, email):
    page = address("staff_login.invitation", "add")
    answer = browser(owner).post(page, {"brand": brand.pk, "email": email, "role": "printer"})

    assert errors(answer) == {"email": [INVALID_ADDRESS]}
    assert not Invitation.objects.exists()


def test_malformed_address_has_a_single_error(brand, owner):
    page = address("staff_login.invitation", "add")
    answer = browser(owner).post(page, {"brand": brand.pk, "email": "nora", "role": "printer"})

    assert len(errors(answer)["email"]) == 1
    assert INVALID_ADDRESS not in errors(answer)["email"]


def test_brand_cannot_be_created_with_an_undeliverable_owner_address(db):
    operator = factories.user(is_staff=True, is_superuser=True)
    answer = browser(operator).post(address("brands.brand", "add"), {"owner_email": BROKEN})

    assert errors(answer)["owner_email"] == [INVALID_ADDRESS]
