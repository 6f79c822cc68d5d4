"""Home, the portal's first page: figures, alerts and next steps."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from authcodes.admin import scan_map
from authcodes.admin.home import period, sections, setup, shortcuts, tiles
from authcodes.admin.home.alerts import Alert, Alerts
from authcodes.admin.home.filter_form import FilterForm
from authcodes.admin.home.list_links import (
    BATCHES,
    CODES,
    LEDGER,
    MEMBERS,
    PRINTS,
    PROGRAMME,
    REDEMPTIONS,
    SCANS,
    Links,
)
from authcodes.admin.home.period import Chosen
from authcodes.admin.home.sections import Charted, CohortRow, Hours, Stage
from authcodes.admin.home.tiles import ScanDays, Tile
from authcodes.admin.printing.printable import printable
from authcodes.admin.scan_map import ScanMap
from authcodes.dashboard import figures
from authcodes.dashboard import home as home_figures
from authcodes.dashboard.figures import Scans
from authcodes.dashboard.filters import EVER, Filters, Status
from authcodes.dashboard.sources import groups
from brands.identity import roles
from brands.identity.roles import VIEW, BrandScope
from brands.models.tenants import Brand
from loyalty.programme import home as programme
from portal.figures.cards import Card, number, percent_of


def home(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of Home, called through settings.UNFOLD["DASHBOARD_CALLBACK"]."""
    visible = brands_within(roles.brand_scope(request.user, VIEW, CODES))
    form = FilterForm(request.GET, brands=visible)
    brands = form.chosen
    home_page = Home(request, brands, form, several=len(visible) > 1)
    page_context = {"form": form, "home": home_page, "title": _("Home"), "narrowed": home_page.is_narrowed}
    page_context["shortcuts"] = shortcuts.shortcuts(request)
    if shortcuts.mainly_prints(request):
        page_context |= {"printable": printable(request, brands), "several": len(visible) > 1}
    return {**context, **page_context}


def brands_within(brand_scope: BrandScope) -> list[Brand]:
    return list(brand_scope.of(Brand.objects.all(), "pk")) if brand_scope else []


class Home:
    """The figures that this user may see, prepared for the template."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], form: FilterForm, *, several: bool) -> None:
        self.request, self.brands = request, brands
        now = timezone.now()
        self.today: date = max((brand.day_at(now) for brand in brands), default=timezone.localdate())
        self.requested = form.filters
        self.chosen: Chosen = period.chosen(
            request.GET, first=self.requested.first_day, last=self.requested.last_day, today=self.today
        )
        days = self.chosen.period
        self.filters: Filters = replace(self.requested, first_day=days.first, last_day=days.last)
        self.links = Links(request, brands, self.filters, several=several)
        self.ever = Links(request, brands, EVER, several=several)
        self.groups = groups(brands, now) if brands else []
        self.codes = figures.codes_of(self.groups, EVER)
        self.funnel_counts = home_figures.funnel_of(self.groups)
        self.sees_scans = bool(self.visible_brands(SCANS))
        self.scans = Scans()
        if self.sees_scans:
            self.read_scans(now)
        of_programme, of_members = self.visible_brands(PROGRAMME), self.visible_brands(MEMBERS)
        self.sees_programme, self.sees_members = bool(of_programme), bool(of_members)
        self.programme = self.programme_of(of_programme)
        self.members = self.programme if of_programme == of_members else self.programme_of(of_members)
        self.setup = setup.of(request, brands)

    def visible_brands(self, label: str) -> list[Brand]:
        within = roles.brand_scope(self.request.user, VIEW, label)
        return [brand for brand in self.brands if brand.pk in within]

    def read_scans(self, now: Any) -> None:
        brands = self.visible_brands(SCANS)
        of_scans = self.groups if len(brands) == len(self.brands) else groups(brands, now)
        self.scans = home_figures.scans_of(of_scans, self.filters, max_places=scan_map.MAX_PLACES)
        before = self.chosen.period.before
        self.scan_days = ScanDays(self.chosen.period, self.scans.days)
        self.scan_days_before = ScanDays(before, home_figures.days_of(of_scans, self.requested, before))
        self.hour_counts = [] if self.is_narrowed else home_figures.hours_of(of_scans, self.chosen.period)

    def programme_of(self, brands: Sequence[Brand]) -> programme.Home:
        days = self.chosen.period
        return programme.home(brands=brands, first=days.before.first, last=days.last, at=timezone.now())

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the days is set. Figures that do not count single scans ignore such filters."""
        return bool(self.requested.status or self.requested.location or self.requested.campaign_id)

    @property
    def period_choices(self) -> list[period.Choice]:
        return period.choices(self.request.GET, self.chosen.name)

    @property
    def zone(self) -> str:
        zones = {brand.time_zone for brand in self.brands}
        return zones.pop() if len(zones) == 1 else ""

    # --- Alerts

    @cached_property
    def alerts(self) -> list[Alert]:
        return Alerts(self.request, self.brands, self.links).all()

    # --- Figures

    @cached_property
    def tiles(self) -> list[Tile]:
        links, days = self.links, self.chosen.period
        result = []
        if self.sees_scans:
            of_scans = links.scans(), links.scans(outcome__exact="success")
            result += tiles.scan_tiles(self.scan_days, self.scan_days_before, of_scans)
        if self.sees_members:
            link = self.rows(MEMBERS, enrolled_at_from=days.first, enrolled_at_to=days.last)
            result.append(tiles.member_tile(self.members, days, link))
        if self.sees_programme:
            moved = {"created_at_from": days.first, "created_at_to": days.last}
            earned, spent = (self.rows(LEDGER, movement=name, **moved) for name in ("earned", "redeemed"))
            result += tiles.points_tiles(self.programme, days, (earned, spent, self.rows(MEMBERS)))
        return result

    def rows(self, label: str, **parameters: Any) -> str | None:
        """The address of a list; None if the user may not see it."""
        return self.links.address(label, parameters) if self.visible_brands(label) else None

    @property
    def by_day(self) -> Charted:
        return sections.scans_by_day(self.scan_days)

    @property
    def outcomes(self) -> list[Card]:
        scans, links = self.scans, self.links
        result = [
            (_("Accepted"), scans.accepted, "success", "accepted"),
            (_("Warnings"), scans.warnings, "warning", "warnings"),
            (_("Errors"), scans.errors, "error", "errors"),
        ]
        return [
            Card(
                title,
                number(count),
                percent=percent_of(count, scans.total),
                link=links.scans(outcome__exact=outcome),
                colour=f"series-{name}",
            )
            for title, count, outcome, name in result
        ]

    @property
    def unique_scanners(self) -> Card:
        return Card(
            _("Unique scanners"), number(self.scans.unique_scanners), _("customers"), link=self.links.scans(user__gt=0)
        )

    @property
    def recalled(self) -> Card:
        return Card(
            _("Scans of recalled products"),
            number(self.scans.recalled),
            _("The scan page warns each of these customers not to use the product, and names a contact."),
            link=self.links.scans(reason__exact="recalled"),
        )

    @property
    def products(self) -> list[Card]:
        most = self.scans.products[0].scans if self.scans.products else 0
        return [
            Card(
                top.name,
                number(top.scans),
                percent=percent_of(top.scans, most),
                link=self.links.scans(outcome__exact="success", product__id__exact=top.id),
            )
            for top in self.scans.products
        ]

    @cached_property
    def map(self) -> ScanMap:
        place_link, scans_link = period.with_locations(self.request.GET), self.links.scans_at()
        return scan_map.build_map(self.scans.places, place_link=place_link, scans_link=scans_link)

    @property
    def funnel(self) -> list[list[Stage]]:
        ever = self.ever
        links = {
            "made": self.link(BATCHES),
            "assigned": ever.codes(),
            "printed": self.link(PRINTS),
            "scanned": ever.codes(Status.SCANNED),
            "scanners": ever.scans(user__gt=0),
            "returned": None,
            "rewarded": self.link(REDEMPTIONS),
        }
        sees_customers = self.sees_scans and self.sees_members
        return sections.funnel(self.codes, self.funnel_counts, links, sees_customers=sees_customers)

    def link(self, label: str) -> str | None:
        return self.ever.address(label, {}) if self.visible_brands(label) else None

    @property
    def points_by_month(self) -> Charted:
        return sections.points_by_month(self.programme, self.today)

    @property
    def cohorts(self) -> list[CohortRow]:
        return sections.cohorts(self.programme)

    @property
    def levels(self) -> list[Card]:
        total = sum(members for _name, members in self.programme.levels)
        return [
            Card(
                name or _("No level reached"),
                number(members),
                percent=percent_of(members, total),
                link=self.rows(MEMBERS, level=name or "-"),
            )
            for name, members in self.programme.levels
        ]

    @property
    def hours(self) -> Hours:
        return sections.hours(self.hour_counts)

    @property
    def has_points(self) -> bool:
        return bool(self.programme.months or self.programme.outstanding)
