"""One mail that cannot be sent, which an owner or a customer of any brand may cause, keeps no other one waiting."""

import pytest
from django.core import mail
from django.db import OperationalError
from django.utils import timezone

from brands.staff_login import invitations, mails
from brands.staff_login.models import Invitation, StaffMail
from tests.support import factories
from tests.support.fakes.fake_providers import mailbox
from tests.support.portal import address, browser, errors, staff

pytestmark = pytest.mark.django_db
# Has the form of an address, and decodes to one with a line break.
BROKEN = "=?utf-8?q?=0abcc?=@example.com"
PORTAL = "https://portal.example.com"
REFUSAL = "No e-mail can be sent to this address. Check its spelling."


@pytest.fixture
def owner(brand):
    return staff(brand, role="owner", email="owner@example.com")


@pytest.fixture
def box(settings):
    with mailbox() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        yield running


def invite(brand, owner, email):
    """As a row of before that no form checked."""
    made = invitations.create(brand=brand, email=email, role="printer", by=owner, at=timezone.now())
    mails.write_invitation(invitation=made, origin=PORTAL)
    return made


def write(user):
    return mails.write(user=user, kind=StaffMail.Kind.NOTIFICATION, origin=PORTAL, text=lambda: "Ready.")


def test_a_mail_that_cannot_be_written_loses_its_place(brand, owner, colleague, box):
    broken = invite(brand, owner, BROKEN)
    write(colleague)

    assert [mails.send_due(at=timezone.now()) for _run in range(2)] == [0, 1]

    assert box.recipients == [colleague.email]
    broken.refresh_from_db()
    assert (broken.mailed_at, broken.failed_mails) == (None, 2)
    assert StaffMail.objects.get(invitation=broken).attempts == 2


def test_so_does_one_whose_words_cannot_be_composed(colleague, monkeypatch):
    render = mails.render_to_string
    answers = iter([KeyError("no such word")])

    def failing_once(*args):
        for error in answers:
            raise error
        return render(*args)

    first, second = write(colleague), write(colleague)
    monkeypatch.setattr(mails, "render_to_string", failing_once)

    assert mails.send_due(at=timezone.now()) == 0
    first.refresh_from_db()
    assert (first.attempts, first.sent_at) == (1, None)
    mails.send_due(at=timezone.now())
    second.refresh_from_db()
    assert second.sent_at


def test_a_database_that_is_away_costs_no_attempt(colleague, monkeypatch):
    def away(*_args):
        raise OperationalError("the connection is lost")

    written = write(colleague)
    monkeypatch.setattr(mails, "render_to_string", away)

    with pytest.raises(OperationalError):
        mails.send_due(at=timezone.now())
    written.refresh_from_db()
    assert written.attempts == 0


def test_a_subject_is_one_line_whatever_a_brand_is_called(owner):
    brand = factories.brand(name="North\rBcc: all@example.com")
    invite(brand, None, "nora@example.com")

    assert mails.send_due(at=timezone.now()) == 1
    assert "North Bcc: all@example.com" in mail.outbox[0].subject


@pytest.mark.parametrize("email", [BROKEN, '"=?utf-8?q?=0a?="@example.com', "=?utf-8?q??=@example.com"])
def test_nobody_is_invited_at_such_an_address(brand, owner, email):
    page = address("staff_login.invitation", "add")
    answer = browser(owner).post(page, {"brand": brand.pk, "email": email, "role": "printer"})

    assert errors(answer) == {"email": [REFUSAL]}
    assert not Invitation.objects.exists()


def test_of_what_is_no_address_at_all_one_thing_is_said(brand, owner):
    page = address("staff_login.invitation", "add")
    answer = browser(owner).post(page, {"brand": brand.pk, "email": "nora", "role": "printer"})

    assert len(errors(answer)["email"]) == 1
    assert REFUSAL not in errors(answer)["email"]


def test_no_brand_begins_with_such_an_owner(db):
    operator = factories.user(is_staff=True, is_superuser=True)
    answer = browser(operator).post(address("brands.brand", "add"), {"owner_email": BROKEN})

    assert errors(answer)["owner_email"] == [REFUSAL]
