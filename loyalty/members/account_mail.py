"""Mails about the account itself. They go to an address with or without an account, so no notification is stored.

A worker decides which mail is sent, so the API's response and its timing are the same for any address.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from brands.identity import users
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import RateLimited
from core.redis import rate_limits
from events import leases, messages, publishing
from events.messages import LeasedEvent, NewEvent, RetryLater
from loyalty.members import confirmations
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.notifications import Channel, NotificationDelivery, Template
from loyalty.notifications import preferences, rendering, suppression
from loyalty.notifications.channels import email
from loyalty.notifications.channels.base import AddressBouncedError, Failed, NotSent, OutboundMessage
from loyalty.notifications.delivery import settings_of
from loyalty.notifications.rendering import MessageRequest
from loyalty.points import accounts


def on_account_mail(delivery: LeasedEvent) -> None:
    """The handler of `account-mail`: one attempt, outside of any transaction."""
    try:
        outcome = _attempt(delivery)
    except AddressBouncedError as problem:
        outcome = f"bounced: {problem}"
    except Failed as problem:
        outcome = f"failed: {problem}"
    except NotSent as problem:
        raise RetryLater(str(problem), after=messages.pause(delivery.attempts)) from problem
    leases.finish(delivery, outcome={"mail": leases.readable(outcome)})


def login_paused(*, user: User, brand: Brand, at: datetime) -> None:
    """Notify a customer that their account accepts no password attempts from new devices today."""
    message = NewEvent(
        kind=confirmations.MAIL,
        payload={"template": Template.LOGIN_PAUSED.value},
        arguments={"brand_id": brand.pk, "user_id": user.pk},
        retry_hours=12,
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=at)


def _attempt(delivery: LeasedEvent) -> str:
    """The outcome of one attempt. Raises as mail.send does."""
    if "confirmation_id" in delivery.payload:
        rows = EmailConfirmation.objects.filter(pk=delivery.payload["confirmation_id"]).select_related("user")
        if delivery.payload.get("is_notification"):  # also sent for a change that is already confirmed
            changed = rows.first()
            return _change_notification(delivery, changed) if changed else "gone"
        row = rows.filter(expires_at__gt=timezone.now(), confirmed_at=None).first()
        return _confirmation(delivery, row) if row else "ended"
    user = User.objects.filter(pk=delivery.arguments["user_id"], is_active=True).first()
    if user is None:
        return "gone"
    return _send(delivery, user.email, user, delivery.payload["template"], {"portal": user.is_staff})


def _confirmation(delivery: LeasedEvent, confirmation: EmailConfirmation) -> str:
    if not _is_within_bound(delivery, confirmation.email):
        return "too many"
    is_new = confirmation.user is None or confirmation.previous_email
    registers = confirmation.user is None
    known = User.objects.filter(email=confirmation.email).first() if is_new else None
    if known and not (registers and users.imported_user(confirmation.email).exists()):
        return _send(delivery, confirmation.email, known, Template.ALREADY_REGISTERED.value, {})
    if confirmation.previous_email:
        values = {"confirmation_id": str(confirmation.pk)}
        return _send(delivery, confirmation.email, confirmation.user, Template.EMAIL_CHANGE.value, values)
    code = confirmations.code_of(confirmation.pk)
    lookups = {
        "confirmation_code": f"{code[:3]} {code[3:]}",
        "confirmation_id": str(confirmation.pk),
        "registers": registers,
        "first_name": confirmation.first_name,
    }
    return _send(delivery, confirmation.email, confirmation.user, Template.EMAIL_CONFIRMATION.value, lookups)


def _change_notification(delivery: LeasedEvent, confirmation: EmailConfirmation) -> str:
    return _send(delivery, confirmation.previous_email, confirmation.user, Template.EMAIL_CHANGE_NOTIFICATION.value, {})


def _is_within_bound(delivery: LeasedEvent, email: str) -> bool:
    """Whether the mailbox may receive another mail from the brand. A retry does not count again."""
    if delivery.attempts > 1:
        return True
    try:
        rate_limits.hit("account_mail_mailbox", delivery.brand_id, email)
    except RateLimited:
        return False
    return True


def _send(delivery: LeasedEvent, address: str, user: User | None, template: str, values: Mapping[str, Any]) -> str:
    way = (Channel.EMAIL.value, address)
    if suppression.suppressed_among(brand_id=delivery.brand_id, addresses=[way]):
        return "stopped"
    brand, own = Brand.objects.get(pk=delivery.brand_id), settings_of(delivery.brand_id)
    wished = preferences.read(user.pk, brand.pk).language if user else ""
    request = MessageRequest(
        brand=brand,
        template=template,
        channel=Channel.EMAIL.value,
        language=wished or own.language,
        values=values,
        customer_name=accounts.names_of(user, brand.pk)[0] if user else values.get("first_name", ""),
        user_id=user.pk if user else 0,
    )
    row = NotificationDelivery(
        delivery_id=delivery.event_id, brand=brand, language=request.language, channel=request.channel
    )
    email.send(OutboundMessage(row, own, rendering.compose(request), address))
    return "sent"
