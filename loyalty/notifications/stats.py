"""How far something that many customers are told of has come."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from loyalty.models.notifications import Notification, NotificationDelivery
from loyalty.notifications.batching import REMINDER

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
