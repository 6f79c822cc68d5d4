"""Sends notifications: chooses the channels and attempts each delivery. The only writer of NotificationDelivery.

A delivery is an event of its own in its channel's lane, so it is retried separately. A crash between the channel's
response and our commit repeats a message with the same id: an e-mail's Message-ID, a push message's tag.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from core.redis.circuit_breaker import CircuitBreaker
from core.texts import DOTS, masked_mail
from events import leases, messages, publishing, worker_signals
from events.messages import LeasedEvent, NewEvent, RetryLater
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import (
    Channel,
    Notification,
    NotificationDelivery,
    NotificationSettings,
    Template,
    Topic,
)
from loyalty.notifications import batching, devices, preferences, rendering, suppression
from loyalty.notifications.catalogue import KINDS
from loyalty.notifications.channels import email, push, sms
from loyalty.notifications.channels.base import (
    SANDBOX,
    AddressBouncedError,
    Failed,
    NotSent,
    OutboundMessage,
)
from loyalty.notifications.preferences import Preferences
from loyalty.notifications.rendering import MessageRequest
from loyalty.notifications.segments import broadcasts
from loyalty.notifications.segments.exclusions import exclusion_reason
from loyalty.points import accounts

Status = NotificationDelivery.Status
CHANNELS: dict[str, Callable[[OutboundMessage], str]] = {
    Channel.EMAIL: email.send,
    Channel.SMS: sms.send,
    Channel.PUSH: push.send,
}
# The maximum number of senders that wait for a brand's slow service.
MAX_SLOW = 2
# Reasons for not sending: stored in English, used for counting, and translated for display.
OPTED_OUT = gettext_noop("The customer has opted out.")
CANCELLED = gettext_noop("Cancelled.")
ADDRESS_SUPPRESSED = gettext_noop("This address is suppressed.")
ADDRESS_GONE = gettext_noop("The address no longer exists.")
SERVICE_SLOW = gettext_noop("The service is slow. Other deliveries go first.")
QUOTA_REACHED = gettext_noop("The brand has reached today's e-mail quota.")
DAY = 24
RETRY_HOURS = {Template.RECALL.value: 72, Template.BROADCAST.value: 72, Template.PASSWORD_RESET.value: 1}


@dataclass(frozen=True, slots=True)
class DeliveryTarget:
    """One address for a notification. `reason` says why it is not sent there, if it is not."""

    channel: str
    address: str
    device_id: int | None = None
    reason: str = ""


def settings_of(brand_id: int) -> NotificationSettings:
    """The brand's settings. A brand without any sends only recalls, from the installation's address."""
    row = NotificationSettings.objects.filter(brand_id=brand_id).first()
    return row or NotificationSettings(brand_id=brand_id, is_active=False)


def on_send_notification(delivery: LeasedEvent) -> None:
    """The handler of `send-notice` and `send-broadcast`: closes the notification and queues its deliveries."""
    at = timezone.now()
    with transaction.atomic():
        leases.finish(delivery)
        notification = batching.close(notification_id=delivery.payload["notice_id"], at=at)
        made = queue(notification, delivery.event_id, at=at) if notification else []
        hours = RETRY_HOURS.get(notification.template, DAY) if notification else DAY
        following = [to_deliver(row, hours) for row in made if row.status == Status.QUEUED]
        if following:
            publishing.publish(messages=following, brand_id=delivery.brand_id, at=at)


def queue(notification: Notification, event_id: uuid.UUID, *, at: datetime) -> list[NotificationDelivery]:
    """Create a delivery for each target. Suppressed ones are stored too, to explain why nothing arrived."""
    own, choices = settings_of(notification.brand_id), preferences.read(notification.user_id, notification.brand_id)
    broadcast = broadcasts.of(notification)
    if notification.is_test:
        targets = [test_target(notification)]
    else:
        targets = list(targets_of(notification, own, choices, broadcast))
    addresses = [(target.channel, target.address) for target in targets]
    suppressed = suppression.suppressed_among(brand_id=notification.brand_id, addresses=addresses)
    if not notification.is_test:
        targets = [replace(target, reason=target.reason or _rejection(target, suppressed)) for target in targets]
    if notification.brand.is_sandbox:
        targets = [replace(target, reason=SANDBOX) for target in targets]
    languages = [notification.payload.get("language", "") if notification.is_test else "", choices.language]
    language = next(filter(None, languages), own.language)
    if broadcast:
        language = broadcasts.language_for(broadcast, [language, own.language])
    return NotificationDelivery.objects.bulk_create(
        NotificationDelivery(
            notification=notification,
            brand_id=notification.brand_id,
            user_id=notification.user_id,
            template=notification.template,
            channel=target.channel,
            language=language,
            address=target.address if notification.is_test and target.channel == Channel.SMS else "",
            masked_address=masked(target.channel, target.address),
            device_id=target.device_id,
            status=Status.SUPPRESSED if target.reason else Status.QUEUED,
            event_id=event_id,
            last_error=target.reason,
            created_at=at,
            finished_at=at if target.reason else None,
        )
        for target in targets
    )


def _rejection(target: DeliveryTarget, suppressed: set[tuple[str, str]]) -> str:
    return ADDRESS_SUPPRESSED if (target.channel, target.address) in suppressed else ""


def targets_of(
    notification: Notification, own: NotificationSettings, preferences: Preferences, broadcast: Broadcast | None
) -> Iterator[DeliveryTarget]:
    """Every address of the customer, with the reason not to send there. Safety notifications always go by e-mail."""
    topic = topic_of(notification.template)
    on = channels_of(own) | ({Channel.EMAIL.value} if topic == Topic.SAFETY else set())
    if not (own.is_active or topic == Topic.SAFETY):
        return
    channels = broadcast.channels if broadcast else KINDS[notification.template].channels
    excluded = exclusion_reason(notification)
    for channel in channels:
        if channel in on:
            unwanted = "" if preferences.allows(topic, channel) else OPTED_OUT
            yield from addresses_of(notification, channel, preferences, reason=unwanted or excluded)


def channels_of(own: NotificationSettings) -> set[str]:
    """The channels that the brand has switched on and set up."""
    ready = {
        Channel.EMAIL: own.email_on,
        Channel.SMS: own.sms_on and own.twilio_account_sid and own.twilio_auth_token and own.sms_sender,
        Channel.PUSH: own.push_on and own.fcm_service_account,
    }
    return {channel.value for channel, is_ready in ready.items() if own.is_active and is_ready}


def addresses_of(
    notification: Notification, channel: str, preferences: Preferences, *, reason: str
) -> Iterator[DeliveryTarget]:
    if channel == Channel.EMAIL:
        yield DeliveryTarget(channel, notification.user.email, reason=reason)
    elif channel == Channel.SMS and preferences.phone:
        yield DeliveryTarget(channel, preferences.phone, reason=reason)
    elif channel == Channel.PUSH:
        for device in devices.alive(user_id=notification.user_id, brand_id=notification.brand_id):
            yield DeliveryTarget(channel, device.token, device.pk, reason=reason)


def test_target(notification: Notification) -> DeliveryTarget:
    """The target of a test send: the staff member's own address, or the number that they entered."""
    channel, device_id = notification.payload["channel"], notification.payload.get("device_id")
    return DeliveryTarget(channel, notification.payload.get("to") or notification.user.email, device_id)


def topic_of(template: str) -> Topic:
    return KINDS[template].topic


def to_deliver(row: NotificationDelivery, retry_hours: int) -> NewEvent:
    return NewEvent(
        kind=f"{'broadcast' if row.template == Template.BROADCAST else 'send'}-{row.channel}",
        payload={"delivery_id": str(row.delivery_id)},
        arguments={"brand_id": row.brand_id, "user_id": row.user_id},
        event_id=row.delivery_id,
        retry_hours=retry_hours,
    )


def on_deliver(delivery: LeasedEvent) -> None:
    """The handler of `send-email`, `broadcast-sms` and similar kinds: one attempt, outside any transaction."""
    row = queued_delivery(delivery)
    if row is None:
        leases.finish(delivery)
        return
    try:
        provider_id = attempt(delivery, row)
    except AddressBouncedError as outcome:
        conclude(delivery, row, Status.BOUNCED, error=leases.readable(str(outcome)), stops=address_of(row))
    except Failed as outcome:
        conclude(delivery, row, Status.FAILED, error=leases.readable(str(outcome)))
    except (NotSent, RetryLater) as problem:
        if timezone.now() >= delivery.give_up_at:
            conclude(delivery, row, Status.FAILED, error=leases.readable(str(problem)))
        else:
            NotificationDelivery.objects.filter(pk=row.pk).update(last_error=leases.readable(str(problem)))
            raise problem if isinstance(problem, RetryLater) else retry_later(delivery, problem) from problem
    else:
        conclude(delivery, row, Status.SENT, provider_id=provider_id)


def attempt(delivery: LeasedEvent, row: NotificationDelivery) -> str:
    """Returns the channel's id of the message. Raises like the channel, and RetryLater if its slow service is busy."""
    breaker = breaker_of(row)
    max_slots = MAX_SLOW if breaker.is_slow() else None
    with worker_signals.acquire_slot(lane=breaker.name, count=max_slots) as slot:
        if not slot:
            raise RetryLater(SERVICE_SLOW, after=messages.pause(min(delivery.attempts, 6)))
        wait_for_quota(delivery, row)
        NotificationDelivery.objects.filter(pk=row.pk).update(attempts=F("attempts") + 1)
        outbound_message, began = message_of(row), monotonic()
        try:
            return leases.readable(CHANNELS[row.channel](outbound_message))
        finally:
            breaker.record_duration(monotonic() - began)


def wait_for_quota(delivery: LeasedEvent, row: NotificationDelivery) -> None:
    """Count a mail when it is first sent. Above the brand's quota, raises RetryLater until tomorrow.

    Safety and password mails never wait. A mail that cannot wait until tomorrow is sent.
    """
    urgent = topic_of(row.template) == Topic.SAFETY or row.template == Template.PASSWORD_RESET
    if row.channel != Channel.EMAIL or row.attempts or urgent:
        return
    if quotas.take(row.brand_id, BrandQuota.Resource.MAILS):
        return
    tomorrow = quotas.until_tomorrow(timezone.now())
    if timezone.now() + tomorrow < delivery.give_up_at:
        raise RetryLater(QUOTA_REACHED, after=tomorrow)


def breaker_of(row: NotificationDelivery) -> CircuitBreaker:
    """Shares among all workers whether a brand's service is slow."""
    return CircuitBreaker(name=f"{row.channel}:{row.brand_id}")


def retry_later(delivery: LeasedEvent, problem: NotSent) -> RetryLater:
    """A failure of an external service is retried without being logged as an error."""
    return RetryLater(str(problem), after=messages.pause(delivery.attempts))


def queued_delivery(delivery: LeasedEvent) -> NotificationDelivery | None:
    rows = NotificationDelivery.objects.select_related("brand", "user", "notification", "device")
    return rows.filter(delivery_id=delivery.payload["delivery_id"], status=Status.QUEUED).first()


def message_of(row: NotificationDelivery) -> OutboundMessage:
    """Built again at each attempt, because the address or the customer's opt-outs may have changed. Raises Failed."""
    own, choices = settings_of(row.brand_id), preferences.read(row.user_id, row.brand_id)
    if not row.notification.is_test and not choices.allows(topic_of(row.template), row.channel):
        raise Failed(OPTED_OUT)
    address = address_of(row)
    if not address:
        raise Failed(ADDRESS_GONE)
    written = broadcasts.content_of(row) if row.template == Template.BROADCAST else None
    request = MessageRequest(
        brand=row.brand,
        template=row.template,
        channel=row.channel,
        language=row.language,
        values=written.values if written else row.notification.payload,
        customer_name=accounts.names_of(row.user, row.brand_id)[0],
        user_id=row.user_id,
        notification_id=row.notification_id,
    )
    return OutboundMessage(row, own, rendering.compose(request, written.texts if written else None), address)


def address_of(row: NotificationDelivery) -> str:
    if row.address:
        return row.address
    if row.channel == Channel.EMAIL:
        return row.user.email
    if row.channel == Channel.SMS:
        return preferences.read(row.user_id, row.brand_id).phone
    return row.device.token if row.device and row.device.died_at is None else ""


def conclude(
    delivery: LeasedEvent,
    row: NotificationDelivery,
    status: str,
    *,
    provider_id: str = "",
    error: str = "",
    stops: str = "",
) -> None:
    """Store the result and finish the event, in one transaction."""
    at = timezone.now()
    outcome: dict[str, Any] = {"delivery_id": str(row.delivery_id), "status": str(status)}
    with transaction.atomic():
        leases.finish(delivery, outcome=outcome, at=at)
        fields = {"status": status, "provider_id": provider_id, "last_error": error, "finished_at": at, "address": ""}
        NotificationDelivery.objects.filter(pk=row.pk).update(**fields)
        if stops and row.channel == Channel.PUSH and row.device:
            devices.mark_dead(device=row.device, at=at)
        elif stops:
            suppression.suppress(
                brand_id=row.brand_id,
                channel=row.channel,
                address=stops,
                masked=row.masked_address,
                reason=error,
                at=at,
            )


def masked(channel: str, address: str) -> str:
    """Enough for customers to recognise their own address."""
    if channel == Channel.EMAIL:
        return masked_mail(address)[:120]
    if channel == Channel.SMS:
        return f"{address[:3]}{DOTS}{address[-2:]}"
    return f"{address[:4]}…"


def withdraw(*, brand_id: int, key: str, at: datetime) -> int:
    """Stop queued deliveries of the notifications with this key and of their reminders. Returns how many."""
    rows = Notification.objects.filter(batching.with_reminders(key), brand=brand_id)
    stopped = {"status": Status.SUPPRESSED, "last_error": CANCELLED, "finished_at": at, "address": ""}
    return NotificationDelivery.objects.filter(notification__in=rows, status=Status.QUEUED).update(**stopped)


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """For the erasure of personal data: retains that something was sent, without the address."""
    rows = NotificationDelivery.objects.filter(user_id=user_id, brand_id=brand_id)
    rows.filter(status=Status.QUEUED).update(status=Status.SUPPRESSED, last_error="", finished_at=at)
    rows.update(address="", masked_address="", provider_id="", last_error="", user_id=to)
