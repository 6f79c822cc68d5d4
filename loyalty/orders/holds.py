"""Pending points: earned by orders, and not yet in the balance. releases.py releases them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from brands.models.tenants import Brand


@dataclass(frozen=True, slots=True)
class Hold:
    """How long points are pending, in days. None: until the delivery is confirmed, however long that takes."""

    days: int | None

    def release_at(self, earned_at: datetime) -> datetime | None:
        return None if self.days is None else earned_at + timedelta(days=self.days)


def hold_of_orders(brand: Brand) -> Hold | None:
    """The brand's setting. None: points of orders are credited at once."""
    if brand.order_points == Brand.OrderPoints.AT_ONCE:
        return None
    return Hold(brand.order_points_days or None)
