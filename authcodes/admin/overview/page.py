"""The portal's front page: the status dashboard of the brands that a person sees."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from authcodes.admin.overview import home
from authcodes.admin.overview.cards import (
    CODES,
    EVENTS,
    MAX_ALERTS,
    QUOTAS,
    SCANS,
    WEBHOOKS,
    Links,
    Step,
    code_cards,
    event_cards,
    scan_cards,
)
from authcodes.admin.overview.chart import COLOURS, chart_of, ranked
from authcodes.admin.overview.filter_form import FilterForm
from authcodes.dashboard import figures
from authcodes.dashboard.figures import Delivery, Scans
from authcodes.dashboard.filters import Filters
from authcodes.fraud import code_runs, fake_reports
from authcodes.fraud.code_runs import Run
from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from authcodes.places import names
from brands.identity import roles
from brands.identity.roles import ADD, VIEW, BrandScope
from brands.models.tenants import Brand
from brands.tenants import quotas, stopped_attempts
from brands.tenants.quotas import Usage
from loyalty.models.notifications import NotificationSettings
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.points.approvals import count_waiting
from portal.base.tenant_scope import staff_user
from portal.figures.cards import Card, number, share
from portal.figures.charts import CHART_OPTIONS

REPORTS = "authcodes.fakereport"
# Attempts stopped in a day; people mistype their passwords.
ALERT_THRESHOLDS = {stopped_attempts.CODES: 1, stopped_attempts.LOGINS: 20}


@dataclass(frozen=True, slots=True)
class Stopped:
    """How many attempts at codes or passwords the limits stopped at a brand today, and the list that tells more."""

    brand: Brand
    kind: str
    number: int
    link: str | None = None

    @property
    def text(self) -> str:
        texts = {
            stopped_attempts.CODES: _("%(brand)s: %(number)s attempts at codes were stopped today (UTC)."),
            stopped_attempts.LOGINS: _("%(brand)s: %(number)s logins of customers were stopped today (UTC)."),
        }
        reasons = {
            stopped_attempts.CODES: _("Someone is trying more codes than customers normally do."),
            stopped_attempts.LOGINS: _("Someone is trying passwords."),
        }
        text = texts[self.kind] % {"brand": self.brand, "number": f"{self.number:,}"}
        return f"{text} {reasons[self.kind]}"


@dataclass(frozen=True, slots=True)
class CodeRunAlert:
    """Neighbouring codes that were scanned one after the other, and the list of these scans."""

    run: Run
    brand: Brand
    link: str | None

    @property
    def text(self) -> str:
        texts = _(
            "%(brand)s: %(codes)d neighbouring codes of %(batch)s were scanned in a row (%(first)s to %(last)s). "
            "Someone may be guessing codes, or a shop has opened a carton."
        )
        text = {"brand": self.brand, "codes": self.run.codes, "batch": self.run.batch}
        return texts % {**text, "first": self.run.first_code, "last": self.run.last_code}


@dataclass(frozen=True, slots=True)
class FakeReportAlert:
    """How many reports of suspected fakes are open, and the list of them."""

    number: int
    link: str | None


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What settings.UNFOLD["DASHBOARD_CALLBACK"] calls: the front page's context."""
    visible = brands_within(roles.brand_scope(request.user, VIEW, CODES))
    form = FilterForm(request.GET, brands=visible)
    brands = form.chosen
    filters = form.filters
    page = Overview(request, brands, filters, several=len(visible) > 1)
    text = {"form": form, "narrowed": any(request.GET.values()), "shown": page, "title": _("Overview")}
    text["shortcuts"] = home.shortcuts(request)
    if home.mainly_prints(request):
        text |= {"printable": home.printable(request, brands), "several": len(visible) > 1}
    return {**context, **text}


def brands_within(brand_scope: BrandScope) -> list[Brand]:
    return list(brand_scope.of(Brand.objects.all(), "pk")) if brand_scope else []


class Overview:
    """The figures that this person may see, made ready for the template."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], filters: Filters, *, several: bool) -> None:
        self.request, self.brands, self.filters = request, brands, filters
        self.links = Links(request, brands, filters, several=several)
        self.codes = figures.codes(brands=brands, filters=filters)
        scan_brands = self.those(VIEW, SCANS)
        self.sees_scans = bool(scan_brands)
        self.scans = figures.scans(brands=scan_brands, filters=filters) if scan_brands else Scans()
        event_brands = self.those(VIEW, EVENTS)
        self.sees_events = bool(event_brands)
        self.delivery = figures.delivery(brands=event_brands) if event_brands else Delivery()

    def those(self, verb: str, label: str) -> list[Brand]:
        within = roles.brand_scope(self.request.user, verb, label)
        return [brand for brand in self.brands if brand.pk in within]

    @property
    def approvals(self) -> int:
        """Requests for points above the ceiling that wait for this person's decision."""
        return count_waiting(by=staff_user(self.request), brand_ids=[brand.pk for brand in self.brands])

    @property
    def zone(self) -> str:
        zones = {brand.time_zone for brand in self.brands}
        return zones.pop() if len(zones) == 1 else ""

    @property
    def cards(self) -> list[Card]:
        return [*code_cards(self.codes, self.links), *(scan_cards(self.scans, self.links) if self.sees_scans else [])]

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
                percent=share(count, scans.total),
                link=links.scans(outcome__exact=outcome),
                fill=COLOURS[name],
            )
            for title, count, outcome, name in result
        ]

    @property
    def products(self) -> list[Card]:
        return ranked(
            self.scans.products, lambda top: self.links.scans(outcome__exact="success", product__id__exact=top.id)
        )

    @property
    def places(self) -> list[Card]:
        tops = [replace(top, name=names.short(top.name)) for top in self.scans.places]
        return ranked(tops, lambda top: self.links.scans(outcome__exact="success", location=top.id))

    @property
    def recalled(self) -> Card:
        return Card(
            _("Scans of recalled products"),
            number(self.scans.recalled),
            _("Each of these customers was asked to stop using the product and given a contact."),
            link=self.links.scans(reason__exact="recalled"),
        )

    @property
    def events(self) -> list[Card]:
        return event_cards(self.delivery, self.links, self.brands)

    @property
    def short_quotas(self) -> list[Usage]:
        """Those of which little or nothing is left."""
        brands = self.those(VIEW, QUOTAS)
        result = [usage for each in quotas.usage_of(brands) for usage in each.usages if usage.is_near]
        return sorted(result, key=lambda usage: -(usage.percent or 0))[:MAX_ALERTS]

    @property
    def stopped_attempts(self) -> list[Stopped]:
        """Of today, for those who see the brand's quotas: somebody tries codes or passwords."""
        brands = self.those(VIEW, QUOTAS)
        numbers = stopped_attempts.today([brand.pk for brand in brands])
        links = {stopped_attempts.CODES: self.links.scans(reason__exact="unknown")} if numbers else {}
        result = [
            Stopped(brand, kind, numbers[brand.pk, kind], links.get(kind))
            for brand in brands
            for kind in stopped_attempts.KINDS
            if numbers.get((brand.pk, kind), 0) >= ALERT_THRESHOLDS[kind]
        ]
        return sorted(result, key=lambda each: -each.number)[:MAX_ALERTS]

    @property
    def code_runs(self) -> list[CodeRunAlert]:
        """Codes of plain batches that somebody seems to have counted on to."""
        brands = {brand.pk: brand for brand in self.those(VIEW, SCANS)}
        return [
            CodeRunAlert(run, brands[run.brand_id], self.scans_of(run, brands[run.brand_id]))
            for run in code_runs.of(list(brands))
        ]

    def scans_of(self, run: Run, brand: Brand) -> str | None:
        days = {"scanned_at_from": run.first_at, "scanned_at_to": run.last_at}
        on = {name: str(at.astimezone(brand.zone).date()) for name, at in days.items()}
        return self.links.address(SCANS, {"batch__id__exact": run.batch_id, **on})

    @property
    def fake_reports(self) -> FakeReportAlert | None:
        """Reports of suspected fakes that wait for somebody."""
        brands = self.those(VIEW, REPORTS)
        number = fake_reports.open_at(brand.pk for brand in brands) if brands else 0
        return FakeReportAlert(number, self.links.address(REPORTS, {"state__exact": "open"})) if number else None

    @property
    def stopped_webhooks(self) -> list[WebhookEndpoint]:
        """Those that the service switched off, until somebody enables them or says that they stay off."""
        brands = self.those(VIEW, WEBHOOKS)
        if not brands:
            return []
        stopped = WebhookEndpoint.objects.stopped_by_itself().filter(brand__in=brands)
        return list(stopped.select_related("brand")[:MAX_ALERTS])

    @property
    def chart(self) -> dict[str, str]:
        return {"data": chart_of(self.scans.days, self.filters), "options": json.dumps(CHART_OPTIONS)}

    @property
    def steps(self) -> list[Step]:
        """In the order of the work; only where nothing is there yet, whatever the filters."""
        if self.codes.assigned or self.scans.total or not self.brands:
            return []
        if not Product.objects.filter(brand__in=self.brands).exists():
            return self.step("authcodes.product", _("Create a product"), _("Codes are printed for a product."))
        if not BatchRange.objects.filter(brand__in=self.brands).exists():
            return self.step("authcodes.batchrange", _("Create a batch"), _("A batch makes a range of codes to print."))
        return self.silent_steps

    @property
    def silent_steps(self) -> list[Step]:
        """While a brand is set up, whether its customers hear anything."""
        if NotificationSettings.objects.filter(brand__in=self.brands, is_active=True).exists():
            return []
        title, label = _("Set up notifications"), "loyalty.notificationsettings"
        if not self.those(ADD, label):
            return [Step(title, _("An owner or manager must do this next."), "", "")]
        text = _("Customers are notified only about recalls and their account.")
        return [Step(title, text, reverse("admin:loyalty_notificationsettings_changelist"), title)]

    def step(self, label: str, title: str, text: str) -> list[Step]:
        if not self.those(ADD, label):
            return [Step(title, _("An owner or manager must do this next."), "", "")]
        return [Step(title, text, reverse(f"admin:{label.replace('.', '_')}_add"), title)]

    @property
    def has_no_results(self) -> bool:
        return not (self.codes.assigned or self.scans.total or self.steps)
