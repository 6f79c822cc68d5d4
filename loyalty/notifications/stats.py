"""How far something that many customers are told of has come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from loyalty.models.notifications import Notification, NotificationDelivery
from loyalty.notifications.batching import REMINDER, of_thing

Status = NotificationDelivery.Status


@dataclass(frozen=True, slots=True)
class Figures:
    """Customers: told, reached by at least one channel, reached by none that is still trying, and who confirmed."""

    notified: int
    delivered: int
    failed: int
    acknowledged: int


def notified(*, brand_id: int, key: str) -> QuerySet[Notification]:
    """One row for each customer: `reached` by it or a reminder of it, `waiting` while a channel still tries."""
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
    """One query."""
    counts = notified(brand_id=brand_id, key=key).aggregate(
        notified=Count("pk"),
        delivered=Count("pk", filter=Q(reached=True)),
        failed=Count("pk", filter=UNREACHED),
        acknowledged=Count("pk", filter=Q(acknowledged_at__isnull=False)),
    )
    return Figures(**counts)


def unreached(*, brand_id: int, key: str) -> QuerySet[Notification]:
    """Those whom no channel reached, and who have not said that they know."""
    rows = notified(brand_id=brand_id, key=key).filter(UNREACHED, acknowledged_at__isnull=True)
    return rows.select_related("user").order_by("pk")


def not_acknowledged(*, brand_id: int, key: str) -> list[int]:
    """The customers who were notified and have not confirmed it, by id."""
    rows = Notification.objects.filter(brand_id=brand_id, key=key, acknowledged_at__isnull=True)
    return list(rows.order_by("user_id").values_list("user_id", flat=True))


def still_to_remind(*, brand_id: int, key: str, user_ids: Sequence[int], since: datetime) -> list[int]:
    """Of these customers, those who have not confirmed it by now and got nothing of it after `since`."""
    later = Notification.objects.filter(
        of_thing(key), brand_id=brand_id, user=OuterRef("user"), template=OuterRef("template"), opened_at__gt=since
    )
    rows = Notification.objects.filter(
        ~Exists(later), brand_id=brand_id, key=key, user__in=user_ids, acknowledged_at__isnull=True
    )
    return list(rows.order_by("user_id").values_list("user_id", flat=True))
