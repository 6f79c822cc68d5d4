"""Gathering: turns `notify` events into notices, merging points earned close together; the only writer of Notification.

A notice is told once. What has a key is told once of what the key names; points have none while they gather, and
close when they are sent. All of it is SQL: whoever is slow comes later, with an event of its own.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.db import sql
from core.errors import DomainError
from events import leases, publishing
from events.messages import LeasedEvent, NewEvent
from events.models import Event
from loyalty.models.notifications import Notification, NotificationSettings, Template

SEND = "send-notice"
NOTICES = uuid.UUID("7d3f6f3e-5a0c-4a57-9f29-4a1c4c9f3b11")

# Two accruals at once: one opens the notice, the other waits for it and is added. One that is closed meanwhile is no
# conflict any more, so the next opens another.
GATHER = """
    INSERT INTO loyalty_notification AS n
           (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
    VALUES (%(brand_id)s::bigint, %(user_id)s::bigint, %(template)s::text, '', %(payload)s::jsonb, %(covers)s::jsonb,
            false, %(at)s::timestamptz)
    ON CONFLICT (brand_id, user_id, template) WHERE key = '' AND closed_at IS NULL DO UPDATE
       SET covers = n.covers || excluded.covers,
           payload = CASE WHEN (excluded.payload->>'transaction_id')::bigint >= (n.payload->>'transaction_id')::bigint
                          THEN excluded.payload ELSE n.payload END
                     || jsonb_build_object(
                            'points_earned', (n.payload->>'points_earned')::numeric
                                             + (excluded.payload->>'points_earned')::numeric,
                            'accruals', (n.payload->>'accruals')::int + 1)
    RETURNING n.id, jsonb_array_length(n.covers) = 1
"""

# Notices of many customers about one thing. Who has been told of it already is left out.
TELL = """
    INSERT INTO loyalty_notification (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
    SELECT %(brand_id)s::bigint, u.user_id, %(template)s::text, %(key)s::text, %(payload)s::jsonb, %(covers)s::jsonb,
           %(is_test)s::bool, %(at)s::timestamptz
      FROM unnest(%(user_ids)s::bigint[]) AS u (user_id)
    ON CONFLICT (brand_id, user_id, template, key) WHERE NOT key = '' DO NOTHING
    RETURNING id, user_id
"""


class UnknownNotice(DomainError):
    code = "VALIDATION_ERROR"
    status = 400
    default_message = _("This notification does not exist, or it lacks data that its text needs.")


@dataclass(frozen=True, slots=True)
class NotificationRequest:
    """Something to tell customers of once: `key` names what. `facts` fill the words; `covers` are event ids."""

    template: str
    key: str
    facts: Mapping[str, Any]
    covers: Sequence[Any] = ()
    is_test: bool = False


NEEDED = {
    Template.POINTS_EARNED: {"points_earned", "transaction_id"},
    Template.LEVEL_REACHED: {"level_name"},
    Template.REWARD_AVAILABLE: {"reward_name"},
    Template.POINTS_EXPIRING: {"points", "expires_on"},
    Template.PASSWORD_FORGOTTEN: set(),
}
PASSWORD_PAUSE_SECONDS = 300  # however often somebody asks for a new password, one mail in so long


def on_notify(delivery: LeasedEvent) -> None:
    """The handler of `notify`: opens a notice, or adds to the one that still gathers; owns its transaction."""
    facts, template = delivery.payload, delivery.payload.get("template")
    if template not in NEEDED or NEEDED[Template(template)] - set(facts):
        raise UnknownNotice
    if template == Template.PASSWORD_FORGOTTEN:
        on_password_forgotten(delivery)
        return
    settings = NotificationSettings.objects.filter(brand_id=delivery.brand_id, is_active=True).first()
    if settings is None:
        leases.finish(delivery, status=Event.Status.IGNORED)
        return
    at = timezone.now()
    with transaction.atomic():
        leases.finish(delivery)
        if template == Template.POINTS_EARNED:
            points = gather(delivery, settings.merge_seconds, at=at) if facts["points_earned"] else []
            following = [*points, *beside_points(delivery, at=at)]
        else:
            news = NotificationRequest(template, f"event:{delivery.event_id}", facts, [str(delivery.event_id)])
            following = open_for(delivery.brand_id, user_id=delivery.arguments["user_id"], news=news, at=at)
        if following:
            publishing.publish(messages=following, brand_id=delivery.brand_id, at=at)


def on_password_forgotten(delivery: LeasedEvent) -> None:
    """Sent whatever the brand's settings are, like a recall; nobody's id is asked for where nobody has the address."""
    user_id, at = delivery.arguments["user_id"], timezone.now()
    if not user_id:
        leases.finish(delivery, status=Event.Status.IGNORED)
        return
    window = int(at.timestamp()) // PASSWORD_PAUSE_SECONDS
    news = NotificationRequest(Template.PASSWORD_FORGOTTEN, f"password:{window}", {}, [str(delivery.event_id)])
    with transaction.atomic():
        leases.finish(delivery)
        if following := open_for(delivery.brand_id, user_id=user_id, news=news, at=at):
            publishing.publish(messages=following, brand_id=delivery.brand_id, at=at)


def gather(delivery: LeasedEvent, merge_seconds: int, *, at: datetime) -> list[NewEvent]:
    """Add points to the customer's open notice; a new one is sent when the time for more is over."""
    facts = delivery.payload
    covered = {
        "event": str(delivery.event_id),
        "cause": facts.get("cause"),
        "transaction_id": facts["transaction_id"],
        "points_earned": facts["points_earned"],
    }
    found = sql.row(
        GATHER,
        {
            "brand_id": delivery.brand_id,
            "user_id": delivery.arguments["user_id"],
            "template": Template.POINTS_EARNED.value,
            "payload": json.dumps({**facts, "accruals": 1}),
            "covers": json.dumps([covered]),
            "at": at,
        },
    )
    assert found is not None  # noqa: S101 - the upsert always returns its row
    notification_id, is_new = found
    if not is_new:
        return []
    return [to_send(notification_id, delivery.arguments["user_id"], delivery.brand_id, wait_seconds=merge_seconds)]


def beside_points(delivery: LeasedEvent, *, at: datetime) -> list[NewEvent]:
    """The news that came with points: a new level, rewards to be claimed, things that were won."""
    facts, user_id = delivery.payload, delivery.arguments["user_id"]
    covers = [str(delivery.event_id)]
    news = []
    if facts.get("level_updated"):
        level = {"level_name": facts["current_level"], "new_balance": facts.get("new_balance")}
        news.append(NotificationRequest(Template.LEVEL_REACHED, f"level:{facts['transaction_id']}", level, covers))
    news += [
        NotificationRequest(Template.REWARD_AVAILABLE, f"milestone:{reward['milestone_id']}", reward, covers)
        for reward in facts.get("rewards", ())
    ]
    return [message for each in news for message in open_for(delivery.brand_id, user_id=user_id, news=each, at=at)]


def open_for(brand_id: int, *, user_id: int, news: NotificationRequest, at: datetime) -> list[NewEvent]:
    """The message that sends a new notice; none where the customer was told of it. Joins the transaction."""
    return [to_send(notification_id, told, brand_id) for notification_id, told in _open(brand_id, [user_id], news, at)]


def announce(
    *, brand_id: int, user_ids: Sequence[int], news: NotificationRequest, at: datetime, retry_hours: int = 72
) -> int:
    """Tell many customers; who has been told of it is left out, so it can be done again. Owns its transaction.

    Returns how many are told by this call. Two statements, however many customers there are.
    """
    with transaction.atomic():
        opened = _open(brand_id, user_ids, news, at)
        if opened:
            messages = [
                to_send(notification_id, told, brand_id, retry_hours=retry_hours) for notification_id, told in opened
            ]
            publishing.publish(messages=messages, brand_id=brand_id, at=at)
    return len(opened)


def told_of(*, brand_id: int, key: str) -> Iterator[int]:
    """Who was told of something, by id."""
    return Notification.objects.filter(brand_id=brand_id, key=key).values_list("user_id", flat=True).iterator()


def withdraw(*, brand_id: int, key: str, at: datetime) -> int:
    """Stop what has not been handed to a channel yet. Returns how many notices that spares customers."""
    return Notification.objects.filter(brand_id=brand_id, key=key, closed_at__isnull=True).update(closed_at=at)


def acknowledge(*, notification: Notification, at: datetime) -> None:
    """The customer has read it; the first time counts."""
    Notification.objects.filter(pk=notification.pk, acknowledged_at__isnull=True).update(acknowledged_at=at)


def close(*, notification_id: int, at: datetime) -> Notification | None:
    """Take a notice to send it: nothing is merged into it from now on. None: it was taken. Call in a transaction."""
    notification = (
        Notification.objects.select_for_update(of=("self",))
        .select_related("brand", "user")
        .filter(pk=notification_id)
        .first()
    )
    if notification is None or notification.closed_at:
        return None
    notification.closed_at = at
    kept, notification.payload = (
        notification.payload,
        {name: value for name, value in notification.payload.items() if name != "to"},
    )
    notification.save(update_fields=["closed_at", "payload"])
    notification.payload = kept  # a test's address goes to its delivery, which keeps it encrypted
    return notification


def _open(brand_id: int, user_ids: Sequence[int], news: NotificationRequest, at: datetime) -> list[tuple[Any, ...]]:
    return sql.rows(
        TELL,
        {
            "brand_id": brand_id,
            "user_ids": list(user_ids),
            "template": str(news.template),
            "key": news.key,
            "payload": json.dumps(dict(news.facts)),
            "covers": json.dumps(list(news.covers)),
            "is_test": news.is_test,
            "at": at,
        },
    )


def to_send(
    notification_id: int, user_id: int, brand_id: int, *, wait_seconds: float = 0, retry_hours: int | None = None
) -> NewEvent:
    return NewEvent(
        kind=SEND,
        payload={"notice_id": notification_id},
        arguments={"brand_id": brand_id, "user_id": user_id},
        event_id=uuid.uuid5(NOTICES, str(notification_id)),
        wait_seconds=wait_seconds,
        retry_hours=retry_hours,
    )


def forget(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """For the erasure of a person's data: what was told goes, and what was not told yet never will be."""
    theirs = Notification.objects.filter(user_id=user_id, brand_id=brand_id)
    theirs.filter(closed_at__isnull=True).update(closed_at=at)
    theirs.update(payload={}, user_id=to)
