"""Turns `notify` events into notifications, and merges points earned close together. Only writer of Notification.

A notification is sent once. One with a key is unique for what the key names. Point notifications have no key while they
gather points; sending closes them. Everything is SQL, so points that come too late open a new notification.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.db.statements import query
from core.errors import DomainError
from events import leases, publishing
from events.messages import LeasedEvent, NewEvent
from events.models import Event
from loyalty.models.notifications import Notification, NotificationSettings, Template

SEND, SEND_BROADCAST = "send-notice", "send-broadcast"
# Separates a notification's key from the day of a reminder, which is about the same.
REMINDER = ":reminder:"
EVENT_ID_NAMESPACE = uuid.UUID("7d3f6f3e-5a0c-4a57-9f29-4a1c4c9f3b11")


@dataclass(frozen=True, slots=True)
class GatheredNotification:
    """The notification to which points were added, and whether this call opened it."""

    notification_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class OpenedNotification:
    """A new notification and its user."""

    notification_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class GatheredMembers:
    """A portion of members: its last account, and the notifications. `last_account` is None after the last portion."""

    last_account: int | None
    members: int
    first_notification: int | None
    last_notification: int | None


GATHER_POINTS = query("loyalty/notifications/sql/gather_points.sql", returns=GatheredNotification)
GATHER_MEMBERS = query("loyalty/notifications/sql/gather_members.sql", returns=GatheredMembers)
INSERT_NOTIFICATIONS = query("loyalty/notifications/sql/insert_notifications.sql", returns=OpenedNotification)


class UnknownNotification(DomainError, code="VALIDATION_ERROR", status=400):
    default_message = _("This notification does not exist, or it lacks data that its text needs.")


@dataclass(frozen=True, slots=True)
class NotificationRequest:
    """A notification that a customer gets once.

    `key` names its subject, `values` fill the texts, `covers` are event ids.
    """

    template: str
    key: str
    values: Mapping[str, Any]
    covers: Sequence[Any] = ()
    is_test: bool = False


NEEDED = {
    Template.POINTS_EARNED: {"points_earned", "transaction_id"},
    Template.LEVEL_REACHED: {"level_name"},
    Template.REWARD_AVAILABLE: {"reward_name"},
    Template.LEVEL_ENDING: {"level_name", "points_missing", "level_until"},
    Template.LEVEL_LOWERED: {"level_before", "level_name"},
    Template.POINTS_EXPIRING: {"points", "expires_on"},
    Template.POINTS_RECEIVED: {"points", "new_balance"},
    Template.PASSWORD_RESET: set(),
}
PASSWORD_PAUSE_SECONDS = 300  # one mail in each window of this length, however often a new password is requested


def on_notify(delivery: LeasedEvent) -> None:
    """The handler of `notify`: opens a notification, or adds to the open one. Owns its transaction."""
    payload, template = delivery.payload, delivery.payload.get("template")
    if template not in NEEDED or NEEDED[Template(template)] - set(payload):
        raise UnknownNotification
    if template == Template.PASSWORD_RESET:
        on_password_reset_requested(delivery)
        return
    settings = NotificationSettings.objects.filter(brand_id=delivery.brand_id, is_active=True).first()
    if settings is None:
        leases.finish(delivery, status=Event.Status.IGNORED)
        return
    at = timezone.now()
    with transaction.atomic():
        leases.finish(delivery)
        if template == Template.POINTS_EARNED:
            points = gather(delivery, settings.merge_seconds, at=at) if payload["points_earned"] else []
            following = [*points, *other_notifications(delivery, at=at)]
        else:
            request = NotificationRequest(template, f"event:{delivery.event_id}", payload, [str(delivery.event_id)])
            following = open_for(delivery.brand_id, user_id=delivery.arguments["user_id"], notification=request, at=at)
        if following:
            publishing.publish(messages=following, brand_id=delivery.brand_id, at=at)


def on_password_reset_requested(delivery: LeasedEvent) -> None:
    """Sent whatever the brand's settings are, like a recall. Ignored without a user, for an unknown address."""
    user_id, at = delivery.arguments["user_id"], timezone.now()
    if not user_id:
        leases.finish(delivery, status=Event.Status.IGNORED)
        return
    window = int(at.timestamp()) // PASSWORD_PAUSE_SECONDS
    request = NotificationRequest(Template.PASSWORD_RESET, f"password:{window}", {}, [str(delivery.event_id)])
    with transaction.atomic():
        leases.finish(delivery)
        if following := open_for(delivery.brand_id, user_id=user_id, notification=request, at=at):
            publishing.publish(messages=following, brand_id=delivery.brand_id, at=at)


def gather(delivery: LeasedEvent, merge_seconds: int, *, at: datetime) -> list[NewEvent]:
    """Add points to the customer's open notification. A new one is sent after `merge_seconds`."""
    payload = delivery.payload
    covered = {
        "event": str(delivery.event_id),
        "cause": payload.get("cause"),
        "transaction_id": payload["transaction_id"],
        "points_earned": payload["points_earned"],
    }
    user_id = delivery.arguments["user_id"]
    gathered = GATHER_POINTS.first(
        brand_id=delivery.brand_id,
        user_id=user_id,
        template=Template.POINTS_EARNED.value,
        payload=json.dumps({**payload, "accruals": 1}),
        covers=json.dumps([covered]),
        at=at,
    )
    assert gathered is not None  # noqa: S101 - the upsert always returns its row
    if not gathered.is_new:
        return []
    return [to_send(gathered.notification_id, user_id, delivery.brand_id, wait_seconds=merge_seconds)]


def other_notifications(delivery: LeasedEvent, *, at: datetime) -> list[NewEvent]:
    """Notifications that accompany points: a new level, and rewards that were won or can be claimed."""
    payload, user_id = delivery.payload, delivery.arguments["user_id"]
    covers = [str(delivery.event_id)]
    requests = []
    if payload.get("level_updated"):
        level = {"level_name": payload["current_level"], "new_balance": payload.get("new_balance")}
        requests.append(
            NotificationRequest(Template.LEVEL_REACHED, f"level:{payload['transaction_id']}", level, covers)
        )
    requests += [
        NotificationRequest(Template.REWARD_AVAILABLE, _key_of(reward), reward, covers)
        for reward in payload.get("rewards", ())
    ]
    return [
        message
        for each in requests
        for message in open_for(delivery.brand_id, user_id=user_id, notification=each, at=at)
    ]


def _key_of(reward: Mapping[str, Any]) -> str:
    """A milestone's reward is notified once in each round of its campaign."""
    key = f"milestone:{reward['milestone_id']}"
    return f"{key}:{reward['round']}" if "round" in reward else key


def open_for(brand_id: int, *, user_id: int, notification: NotificationRequest, at: datetime) -> list[NewEvent]:
    """The event that sends a new notification. Empty if the customer already has it. Joins the transaction."""
    return [
        to_send(opened.notification_id, opened.user_id, brand_id)
        for opened in _open(brand_id, [user_id], notification, at)
    ]


def notify_many(
    *, brand_id: int, user_ids: Sequence[int], notification: NotificationRequest, at: datetime, retry_hours: int = 72
) -> int:
    """Notify many customers. Skips those who have the notification, so it can be repeated. Owns its transaction.

    Returns how many are notified by this call. Takes two statements for any number of customers.
    """
    with transaction.atomic():
        opened = _open(brand_id, user_ids, notification, at)
        if opened:
            messages = [
                to_send(each.notification_id, each.user_id, brand_id, retry_hours=retry_hours) for each in opened
            ]
            publishing.publish(messages=messages, brand_id=brand_id, at=at)
    return len(opened)


def open_for_members(
    *, brand_id: int, segment_id: int | None, after: int, notification: NotificationRequest, at: datetime, limit: int
) -> GatheredMembers:
    """Create unsent notifications for the next members after the account `after`, of the segment or of the brand.

    Joins the transaction.
    """
    portion = GATHER_MEMBERS.first(
        brand_id=brand_id,
        segment_id=segment_id,
        after=after,
        template=str(notification.template),
        key=notification.key,
        payload=json.dumps(dict(notification.values)),
        at=at,
        limit=limit,
    )
    assert portion is not None  # noqa: S101 - the statement always returns its row
    return portion


def notified_users(*, brand_id: int, key: str) -> Iterator[int]:
    """The ids of the users who have a notification with this key."""
    return Notification.objects.filter(brand_id=brand_id, key=key).values_list("user_id", flat=True).iterator()


def withdraw(*, brand_id: int, key: str, at: datetime) -> int:
    """Stop notifications that are not sent yet, including reminders. Returns how many."""
    rows = Notification.objects.filter(with_reminders(key), brand_id=brand_id, closed_at__isnull=True)
    return rows.update(closed_at=at)


def acknowledge(*, notification: Notification, at: datetime) -> None:
    """Record that the customer has read it; the first time counts. Reading a reminder also acknowledges the others."""
    key = notification.key.partition(REMINDER)[0]
    its = Q(pk=notification.pk) if REMINDER not in notification.key else with_reminders(key)
    same = {name: getattr(notification, name) for name in ("brand_id", "user_id", "template")}
    Notification.objects.filter(its, **same, acknowledged_at__isnull=True).update(acknowledged_at=at)


def with_reminders(key: str) -> Q:
    """The notifications with this key, and their reminders."""
    return Q(key=key) | Q(key__startswith=f"{key}{REMINDER}")


def close(*, notification_id: int, at: datetime) -> Notification | None:
    """Close a notification for sending: nothing more is merged into it. None if closed. Call in a transaction."""
    notification = (
        Notification.objects.select_for_update(of=("self",))
        .select_related("brand", "user")
        .filter(pk=notification_id)
        .first()
    )
    if notification is None or notification.closed_at:
        return None
    notification.closed_at = at
    saved, notification.payload = (
        notification.payload,
        {name: value for name, value in notification.payload.items() if name != "to"},
    )
    notification.save(update_fields=["closed_at", "payload"])
    notification.payload = saved  # the delivery stores a test's address, encrypted
    return notification


def _open(
    brand_id: int, user_ids: Sequence[int], notification: NotificationRequest, at: datetime
) -> list[OpenedNotification]:
    return INSERT_NOTIFICATIONS.all(
        brand_id=brand_id,
        user_ids=list(user_ids),
        template=str(notification.template),
        key=notification.key,
        payload=json.dumps(dict(notification.values)),
        covers=json.dumps(list(notification.covers)),
        is_test=notification.is_test,
        at=at,
    )


def to_send(
    notification_id: int,
    user_id: int,
    brand_id: int,
    *,
    wait_seconds: float = 0,
    retry_hours: int | None = None,
    kind: str = SEND,
) -> NewEvent:
    return NewEvent(
        kind=kind,
        payload={"notice_id": notification_id},
        arguments={"brand_id": brand_id, "user_id": user_id},
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, str(notification_id)),
        wait_seconds=wait_seconds,
        retry_hours=retry_hours,
    )


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """For the erasure of personal data: clear the contents, and never send what is unsent."""
    rows = Notification.objects.filter(user_id=user_id, brand_id=brand_id)
    rows.filter(closed_at__isnull=True).update(closed_at=at)
    rows.update(payload={}, user_id=to)
