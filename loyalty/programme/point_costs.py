"""The cost of a point to a brand on a day."""

from datetime import date
from decimal import Decimal

from loyalty.models.programme.costs import PointCost


class PointCosts:
    """All costs of a brand in its currency, read once. `is_known`: whether it has set any."""

    def __init__(self, brand_id: int) -> None:
        rows = PointCost.objects.filter(brand=brand_id).order_by("-valid_from")
        self._rows = list(rows.values_list("valid_from", "cost"))
        self.is_known = bool(self._rows)

    def on(self, day: date) -> Decimal | None:
        """The cost on a day, or None before the first cost."""
        return next((cost for since, cost in self._rows if since <= day), None)
