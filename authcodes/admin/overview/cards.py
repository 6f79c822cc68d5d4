"""The cards of the front page: figures with links to the lists behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from authcodes.dashboard.figures import Codes, Delivery, Scans
from authcodes.dashboard.filters import Filters, Status, when_and_where
from brands.models.tenants import Brand
from portal.figures.cards import Card, address, number

# As the lists spell this filter.
CAMPAIGN = "campaign__campaign_id__exact"
CODES, SCANS, EVENTS = "authcodes.authcode", "authcodes.scan", "events.event"
WEBHOOKS, QUOTAS, MAX_ALERTS = "loyalty.webhookendpoint", "brands.brandquota", 5


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next while there is nothing to show."""

    title: str
    text: str
    link: str
    button: str


class Links:
    """Addresses of the lists that show exactly what a figure counts; the lists ask dashboard_filters as well."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], filters: Filters, *, several: bool) -> None:
        self.request, self.filters = request, filters
        self.zones = {brand.time_zone for brand in brands}
        self.own = {"brand__id__exact": brands[0].pk} if several and len(brands) == 1 else {}

    def codes(self, status: str | None = None, **more: Any) -> str | None:
        """Codes that have a product."""
        result = {"status": status or self.filters.status, f"batch__{CAMPAIGN}": self.filters.campaign_id}
        return self.address(CODES, {"assigned": "yes", **result, **more})

    def scanned_codes(self) -> str | None:
        if self.filters.by_scan or self.filters.status:
            then = {**self.days("first_scan_at"), "first_scan_location": self.filters.location}
            return self.codes(scan_count__gt=0, **then)
        return self.codes(Status.SCANNED)

    def unscanned_codes(self) -> str | None:
        if self.filters.by_scan:
            return self.codes(not_first_scanned=when_and_where(self.filters))
        return self.codes(scan_count=0) if self.filters.status else self.codes(Status.UNSCANNED)

    def scans(self, **more: Any) -> str | None:
        filters = self.filters
        result = {"status": filters.status, "location": filters.location, CAMPAIGN: filters.campaign_id}
        return self.address(SCANS, {**result, **self.days("scanned_at"), **more})

    def days(self, field: str) -> dict[str, str]:
        """Each brand's own, as the lists read them."""
        ends = {"from": self.filters.first_day, "to": self.filters.last_day}
        return {f"{field}_{end}": str(day) for end, day in ends.items() if day}

    def address(self, label: str, parameters: dict[str, Any]) -> str | None:
        """A list, or None where it has no such filter."""
        return address(self.request, label, {**parameters, **self.own})


def code_cards(codes: Codes, links: Links) -> list[Card]:
    by_scan = links.filters.by_scan
    return [
        Card(_("Assigned codes"), number(codes.assigned), _("have a product"), link=links.codes()),
        Card(
            _("Scanned"),
            number(codes.scanned),
            _("first scanned there in this period") if by_scan else _("of assigned codes"),
            codes.scanned_percent,
            links.scanned_codes(),
        ),
        Card(
            _("Unscanned"),
            number(codes.unscanned),
            _("not first scanned there in this period") if by_scan else _("of assigned codes"),
            codes.unscanned_percent,
            links.unscanned_codes(),
            "text-base-400",
        ),
    ]


def scan_cards(scans: Scans, links: Links) -> list[Card]:
    return [
        Card(
            _("Points awarded"), number(scans.points), _("for scans"), link=links.scans(points_status__exact="awarded")
        ),
        Card(_("Unique scanners"), number(scans.unique_scanners), _("customers"), link=links.scans(user__gt=0)),
    ]


def event_cards(delivery: Delivery, links: Links, brands: Sequence[Brand]) -> list[Card]:
    oldest = ""
    if delivery.oldest_at:
        at = timezone.localtime(delivery.oldest_at, brands[0].zone if len(links.zones) == 1 else None)
        oldest = _("oldest since %(at)s") % {"at": date_format(at, "j M, H:i")}
    return [
        Card(
            _("Events waiting"),
            number(delivery.pending),
            oldest or _("none waiting"),
            link=links.address(EVENTS, {"status__exact": "pending"}),
        ),
        Card(
            _("Failed events"),
            number(delivery.dead),
            _("review and retry them") if delivery.dead else _("none failed"),
            link=links.address(EVENTS, {"status__exact": "dead"}),
            colour="text-red-600" if delivery.dead else "",
        ),
    ]
