"""How far something that many customers are told of has come."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from loyalty.models.notifications import Notification, NotificationDelivery


@dataclass(frozen=True, slots=True)
class Figures:
    """Customers: told, reached by at least one channel, reached by none that is still trying, and who confirmed."""

    notified: int
    delivered: int
    failed: int
    acknowledged: int


def of(*, brand_id: int, key: str) -> Figures:
    """One query."""
    deliveries = NotificationDelivery.objects.filter(notification=OuterRef("pk"))
    waiting = Exists(deliveries.filter(status=NotificationDelivery.Status.QUEUED))
    reached = Exists(deliveries.filter(status=NotificationDelivery.Status.SENT))
    rows = Notification.objects.filter(brand_id=brand_id, key=key).annotate(reached=reached, waiting=waiting)
    counts = rows.aggregate(
        notified=Count("pk"),
        delivered=Count("pk", filter=Q(reached=True)),
        failed=Count("pk", filter=Q(reached=False, waiting=False, closed_at__isnull=False)),
        acknowledged=Count("pk", filter=Q(acknowledged_at__isnull=False)),
    )
    return Figures(**counts)
