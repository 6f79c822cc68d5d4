"""Progress of a notification to many customers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from loyalty.models.notifications import Notification, NotificationDelivery
from loyalty.notifications.batching import REMINDER, with_reminders

Status = NotificationDelivery.Status


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of customers: notified, reached by a channel, reached by none with none still trying, and confirmed."""

    notified: int
    delivered: int
    failed: int
    acknowledged: int


def notified(*, brand_id: int, key: str) -> QuerySet[Notification]:
    """One row per customer: `reached` by it or by a reminder, `waiting` while a channel still tries."""
    deliveries = NotificationDelivery.objects.filter(notification=OuterRef("pk"))
    reminded = NotificationDelivery.objects.filter(
        user=OuterRef("user"),
        brand=OuterRef("brand"),
        notification__key__startswith=f"{key}{REMINDER}",
        status=Status.SENT,
    )
    return Notification.objects.filter(brand_id=brand_id, key=key).annotate(
        reached=Exists(deliveries.filter(status=Status.SENT)) | Exists(reminded),
        waiting=Exists(deliveries.filter(status=Status.QUEUED)),
    )


UNREACHED = Q(reached=False, waiting=False, closed_at__isnull=False)


def of(*, brand_id: int, key: str) -> Figures:
    """Takes one query."""
    counts = notified(brand_id=brand_id, key=key).aggregate(
        notified=Count("pk"),
        delivered=Count("pk", filter=Q(reached=True)),
        failed=Count("pk", filter=UNREACHED),
        acknowledged=Count("pk", filter=Q(acknowledged_at__isnull=False)),
    )
    return Figures(**counts)


def unreached(*, brand_id: int, key: str) -> QuerySet[Notification]:
    """Notifications of customers whom no channel reached and who have not confirmed it."""
    rows = notified(brand_id=brand_id, key=key).filter(UNREACHED, acknowledged_at__isnull=True)
    return rows.select_related("user").order_by("pk")


def not_acknowledged(*, brand_id: int, key: str) -> list[int]:
    """The ids of customers who were notified and have not confirmed it."""
    rows = Notification.objects.filter(brand_id=brand_id, key=key, acknowledged_at__isnull=True)
    return list(rows.order_by("user_id").values_list("user_id", flat=True))


def still_to_remind(*, brand_id: int, key: str, user_ids: Sequence[int], since: datetime) -> list[int]:
    """Those of `user_ids` who have not confirmed it and got no notification or reminder of it after `since`."""
    later = Notification.objects.filter(
        with_reminders(key),
        brand_id=brand_id,
        user=OuterRef("user"),
        template=OuterRef("template"),
        opened_at__gt=since,
    )
    rows = Notification.objects.filter(
        ~Exists(later), brand_id=brand_id, key=key, user__in=user_ids, acknowledged_at__isnull=True
    )
    return list(rows.order_by("user_id").values_list("user_id", flat=True))
