"""The addresses of the lists behind the figures of Home."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from authcodes.dashboard.filters import Filters
from brands.models.tenants import Brand
from portal.figures.cards import address

# The name of this filter in the lists.
CAMPAIGN = "campaign__campaign_id__exact"
CODES, SCANS, EVENTS = "authcodes.authcode", "authcodes.scan", "events.event"
QUOTAS, REPORTS = "brands.brandquota", "authcodes.fakereport"
BATCHES, PRINTS, REDEMPTIONS = "authcodes.batchrange", "authcodes.printrun", "loyalty.redemption"
MEMBERS, LEDGER, PROGRAMME = "loyalty.userpoints", "loyalty.loyaltytransaction", "loyalty.pointsrollup"


class Links:
    """Addresses of lists that show exactly what a figure counts: both use authcodes.dashboard.filters."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], filters: Filters, *, several: bool) -> None:
        self.request, self.filters = request, filters
        self.own = {"brand__id__exact": brands[0].pk} if several and len(brands) == 1 else {}

    def codes(self, status: str | None = None, **more: Any) -> str | None:
        """The list of codes that have a product."""
        result = {"status": status or self.filters.status, f"batch__{CAMPAIGN}": self.filters.campaign_id}
        return self.address(CODES, {"assigned": "yes", **result, **more})

    def scans(self, **more: Any) -> str | None:
        filters = self.filters
        result = {"status": filters.status, "location": filters.location, CAMPAIGN: filters.campaign_id}
        return self.address(SCANS, {**result, **self.days("scanned_at"), **more})

    def scans_at(self) -> Callable[[str], str | None]:
        """Returns a function from a place to its list of accepted scans. The addresses differ only at their end."""
        all_places = self.scans(outcome__exact="success", location=None)
        return lambda location: all_places and f"{all_places}&{urlencode({'location': location})}"

    def days(self, field: str) -> dict[str, str]:
        """List parameters for the days; lists read them in each brand's time zone."""
        ends = {"from": self.filters.first_day, "to": self.filters.last_day}
        return {f"{field}_{end}": str(day) for end, day in ends.items() if day}

    def address(self, label: str, parameters: dict[str, Any]) -> str | None:
        """The address of a list; None if the list has no such filter."""
        return address(self.request, label, {**parameters, **self.own})
