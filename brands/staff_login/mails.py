"""Mails to staff about sign-in, quotas and reports: the only code that writes, sends and reads StaffMail.

Each is in its recipient's language (staff.language_of). A mail whose text is composed in advance keeps its language.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from smtplib import SMTPDataError, SMTPRecipientsRefused
from typing import Any

from celery import current_app
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import get_language_bidi
from django.utils.translation import gettext as _

from brands.identity import tokens
from brands.models.people import User
from brands.staff_login import invitations, staff
from brands.staff_login.models import MAX_ATTEMPTS, Invitation, StaffMail
from brands.tenants.hostnames import brand_for_hostname
from core import languages
from core.db.outages import is_outage
from core.errors import Invalid
from core.mail import UNWRITABLE, one_line

logger = logging.getLogger(__name__)

LIFE = {StaffMail.Kind.PASSWORD_LINK: timedelta(minutes=30), StaffMail.Kind.FACTORS_LINK: timedelta(hours=24)}
LOGIN_LINKS = (StaffMail.Kind.PASSWORD_LINK, StaffMail.Kind.FACTORS_LINK)
OTHER_MAILS = tuple(kind for kind in StaffMail.Kind if kind not in LOGIN_LINKS)
WARNINGS = (StaffMail.Kind.BUDGET, StaffMail.Kind.CAMPAIGN_BUDGET, StaffMail.Kind.QUOTA)
REPORTS = (StaffMail.Kind.REPORT, StaffMail.Kind.REPORT_FAILED)
PAGES = {StaffMail.Kind.PASSWORD_LINK: "admin:new_password", StaffMail.Kind.FACTORS_LINK: "admin:remove_factors"}
SALT = "staff mail"
AT_ONCE = 20
RETENTION = timedelta(days=7)
MAX_TEXT_LENGTH = 1000


class Outcome(Enum):
    """What became of an attempt to send a mail."""

    DONE = auto()
    REJECTED = auto()
    NO_SERVER = auto()


@dataclass(frozen=True, slots=True)
class Opened:
    """A valid link and its user."""

    user: User
    mail_id: int


def origin_of(request: HttpRequest) -> str:
    """The base of the portal's links. Raises Invalid if the request came through a brand's hostname: the brand decides
    where that leads, so it must not receive other people's links."""
    if settings.PORTAL_URL:
        return str(settings.PORTAL_URL)
    if brand_for_hostname(request.get_host()) is not None:
        raise Invalid(_("Open the portal at its own address, not at a brand's, to request a link."))
    return f"{request.scheme}://{request.get_host()}"


def origin_or_none(request: HttpRequest) -> str:
    """For a mail without a secret in it; empty if the portal's own address is not known."""
    try:
        return origin_of(request)
    except Invalid:
        return ""


def write(
    *,
    user: User | None,
    kind: str,
    origin: str,
    text: Callable[[], str] | None = None,
    path: str = "",
    brand_id: int | None = None,
) -> StaffMail:
    """Queue a mail, to be sent after the transaction commits. With `user` None it goes to nobody. `text` is called with
    the recipient's language active. `path`: the page of a link without a secret. `brand_id`: the brand it is about.
    """
    language = composed = ""
    if text is not None:
        language = staff.language_of(user, brand_id=brand_id)
        with languages.override(language):
            composed = text()[:MAX_TEXT_LENGTH]
    mail = StaffMail.objects.create(user=user, kind=kind, origin=origin, text=composed, language=language, path=path)
    transaction.on_commit(call_worker)
    return mail


def write_invitation(*, invitation: Invitation, origin: str) -> None:
    """Queue the link of an invitation, to be mailed after the transaction commits. It replaces the invitation's earlier
    mails that wait or failed."""
    unsent = StaffMail.objects.select_for_update(skip_locked=True).filter(invitation=invitation, sent_at=None)
    StaffMail.objects.filter(pk__in=list(unsent.values_list("pk", flat=True))).delete()
    StaffMail.objects.create(kind=StaffMail.Kind.INVITATION, invitation=invitation, origin=origin)
    transaction.on_commit(call_worker)


def call_worker() -> None:
    """Wake a worker. Failures are ignored: beat checks every minute."""
    try:
        current_app.send_task("brands.tasks.send_staff_mails", ignore_result=True)
    except Exception as error:  # noqa: BLE001 - whatever the broker's trouble, beat finds the row
        logger.warning("No worker could be called to send mails to staff: %s", error)


def send_due(*, at: datetime) -> int:
    """Send waiting mails, each in its own transaction. Returns how many were done.

    Login links come first. A mail that the server rejects for good does not delay the others.
    """
    done = 0
    for kinds in (LOGIN_LINKS, OTHER_MAILS):
        tried: list[int] = []
        while done < AT_ONCE and len(tried) < AT_ONCE:
            outcome = _send_one(kinds, at, tried)
            if outcome is None or outcome is Outcome.NO_SERVER:
                break
            done += outcome is Outcome.DONE
    return done


def _send_one(kinds: Sequence[str], at: datetime, tried: list[int]) -> Outcome | None:
    """Try the next mail that is not in `tried`, and add its id there. None if no other mail waits."""
    with transaction.atomic():
        waiting = StaffMail.objects.select_for_update(skip_locked=True, of=("self",)).select_related(
            "user", "invitation__brand", "invitation__invited_by"
        )
        unsent = waiting.filter(sent_at=None, attempts__lt=MAX_ATTEMPTS, kind__in=kinds)
        # Invitations and changes come before warnings, as a brand may cause many, and warnings before reports.
        is_warning, is_report = (ExpressionWrapper(Q(kind__in=each), BooleanField()) for each in (WARNINGS, REPORTS))
        mail = unsent.exclude(pk__in=tried).order_by("attempts", is_report, is_warning, "id").first()
        if mail is None:
            return None
        mail.attempts += 1
        tried.append(mail.pk)
        outcome = _send(mail, at)
        if outcome is Outcome.DONE:
            mail.sent_at = at
        if mail.sent_at or mail.attempts >= MAX_ATTEMPTS:
            mail.text = ""  # it may contain a name, and is no longer needed
        mail.save(update_fields=["attempts", "sent_at", "text"])
        return outcome


def _send(mail: StaffMail, at: datetime) -> Outcome:
    """Try to send the mail. DONE also if it has no recipient."""
    if mail.invitation is not None:
        token = invitations.new_token(invitation_id=mail.invitation.pk, at=at)
        if not token:
            return Outcome.DONE
        link = mail.origin + reverse("admin:accept_invitation", args=[token])
        colleague = User.objects.filter(email=mail.invitation.email, is_staff=True).first()
        language = staff.language_of(colleague, brand_id=mail.invitation.brand_id)
        outcome = _deliver(mail, mail.invitation.email, language, {"invitation": mail.invitation, "link": link})
        if outcome is Outcome.DONE:
            invitations.mark_mailed(invitation_id=mail.invitation.pk, at=at)
        else:
            invitations.mark_failed(invitation_id=mail.invitation.pk)
        return outcome
    if mail.user is None or not mail.user.is_active:
        return Outcome.DONE
    language = mail.language or staff.language_of(mail.user)
    return _deliver(mail, mail.user.email, language, {"user": mail.user, "link": link_of(mail, mail.user)})


def _deliver(mail: StaffMail, email: str, language: str, context: dict[str, Any]) -> Outcome:
    """Give the mail to the server. An error in one mail must not block those behind it."""
    try:
        with transaction.atomic(), languages.override(language):
            message = _message_of(mail, email, language, {"mail": mail, **context})
        message.send()
    except (OSError, *UNWRITABLE) as error:  # smtplib's errors are OSErrors too
        logger.warning("A mail to staff was not taken: %s", type(error).__name__)
        return Outcome.REJECTED if _is_rejection(error) else Outcome.NO_SERVER
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("The mail %s to staff could not be written or sent.", mail.pk)
        return Outcome.REJECTED
    return Outcome.DONE


def _is_rejection(error: Exception) -> bool:
    """Whether this mail was rejected for good, or cannot be written, while others may be accepted. A server with a
    temporary problem (4xx) may give every mail the same reply."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _text in error.recipients.values())
    if isinstance(error, SMTPDataError):
        return error.smtp_code >= 500
    return isinstance(error, UNWRITABLE)


def _message_of(mail: StaffMail, email: str, language: str, context: dict[str, Any]) -> EmailMultiAlternatives:
    """In the active language: the kind's template as plain text, and the same lines as HTML."""
    rendered = render_to_string(f"staff_login/mail/{mail.kind}.txt", context)
    first_line, _newline, body = (part.strip() for part in rendered.partition("\n"))
    subject = one_line(first_line)
    headers = {"Auto-Submitted": "auto-generated", "Content-Language": language}
    message = EmailMultiAlternatives(subject, f"{body}\n", settings.DEFAULT_FROM_EMAIL, [email], headers=headers)
    page = {
        "language": language,
        "direction": "rtl" if get_language_bidi() else "ltr",
        "subject": subject,
        "paragraphs": [part.strip().splitlines() for part in body.split("\n\n") if part.strip()],
        "addresses": [context["link"], mail.origin],  # any other text that looks like a link is not ours
    }
    message.attach_alternative(render_to_string("staff_login/mail/mail.html", page), "text/html")
    return message


def link_of(mail: StaffMail, user: User) -> str:
    """The link, created with the mail and not stored; a new password or address ends it. Or a page that requires a
    login."""
    if mail.kind not in PAGES:
        return mail.origin + mail.path if mail.path else ""
    token = signing.dumps([mail.pk, user.pk, _fingerprint(user)], salt=SALT + mail.kind)
    return mail.origin + reverse(PAGES[StaffMail.Kind(mail.kind)], args=[token])


def _fingerprint(user: User) -> str:
    """Changes with the user's password, epoch and address."""
    return salted_hmac(SALT, f"{tokens.fingerprint(user)} {user.email}", algorithm="sha256").hexdigest()[:16]


def opened(*, kind: StaffMail.Kind, token: str) -> Opened:
    """The link that `token` is from. Opening does not use it up. Raises Invalid if it has ended or was used."""
    try:
        mail_id, user_id, fingerprint = signing.loads(token, salt=SALT + kind, max_age=LIFE[kind])
    except (signing.BadSignature, ValueError, TypeError):
        raise ended() from None
    user = User.objects.filter(pk=user_id, is_active=True, is_staff=True).first()
    fresh = StaffMail.objects.filter(pk=mail_id, user=user_id, kind=kind, used_at=None).exists()
    if user is None or not fresh or not constant_time_compare(fingerprint, _fingerprint(user)):
        raise ended()
    return Opened(user, mail_id)


def use(opened: Opened, *, at: datetime) -> None:
    """Use the link. Of two concurrent calls with the same link, one raises Invalid."""
    if not StaffMail.objects.filter(pk=opened.mail_id, used_at=None).update(used_at=at):
        raise ended()


def ended() -> Invalid:
    return Invalid(_("This link has expired or was already used. Request a new one."))


def purge_old(*, at: datetime) -> int:
    return StaffMail.objects.filter(created_at__lt=at - RETENTION).delete()[0]
