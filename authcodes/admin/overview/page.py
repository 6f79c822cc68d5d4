"""The portal's front page: the status dashboard of the brands that a person sees, narrowed by a form."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes import code_runs, fake_reports, home, place_names, place_search
from authcodes import dashboard as dashboards
from authcodes.code_runs import Run
from authcodes.dashboard import Codes, Day, Delivery, Filters, Scans, Status, Top
from authcodes.dashboard_filters import when_and_where
from authcodes.models import BatchRange, Product
from brands import moments, quotas, roles, stopped_attempts
from brands.digits import AsciiDigits
from brands.models import Brand
from brands.navigation import page_of
from brands.quotas import Usage
from brands.refusals import Refused
from brands.roles import ADD, VIEW, Reach
from brands.unfolded import SelectWidget
from campaigns.models import Campaign
from loyalty.admin.approvals import waiting_for
from loyalty.models import NoticeSettings, WebhookEndpoint

# As the lists spell this filter.
CAMPAIGN = "campaign__campaign_id__exact"
CODES, SCANS, EVENTS = "authcodes.authcode", "authcodes.scan", "loyalty.event"
REPORTS = "authcodes.fakereport"
WEBHOOKS, QUOTAS, MOST_NOTICES = "loyalty.webhookendpoint", "brands.brandquota", 5
# Attempts stopped in a day; people mistype their passwords.
WORTH_A_NOTICE = {stopped_attempts.CODES: 1, stopped_attempts.LOGINS: 20}
MOST_BARS = 62
COLOURS = {"accepted": "var(--color-primary-600)", "warnings": "#f59e0b", "errors": "#dc2626"}
CHART_OPTIONS = {
    "responsive": True,
    "maintainAspectRatio": False,
    "animation": False,
    "interaction": {"mode": "index", "intersect": False},
    "plugins": {
        "legend": {
            "position": "bottom",
            "align": "start",
            "labels": {"boxWidth": 10, "boxHeight": 10, "color": "#9ca3af"},
        },
    },
    "scales": {
        "x": {
            "stacked": True,
            "grid": {"display": False},
            "ticks": {"color": "#9ca3af", "maxRotation": 0, "autoSkipPadding": 16},
        },
        "y": {
            "stacked": True,
            "beginAtZero": True,
            "border": {"display": False},
            "ticks": {"color": "#9ca3af", "precision": 0, "maxTicksLimit": 6},
        },
    },
    "datasets": {"bar": {"maxBarThickness": 28, "categoryPercentage": 0.9, "barPercentage": 0.9}},
}
INPUT = (
    "border border-base-200 bg-white font-medium min-w-20 placeholder-base-400 rounded-default shadow-xs "
    "text-font-default-light text-sm focus:outline-2 focus:-outline-offset-2 focus:outline-primary-600 "
    "dark:bg-base-900 dark:border-base-700 dark:text-font-default-dark dark:scheme-dark px-3 py-2 w-full"
)


class FilterForm(AsciiDigits, forms.Form):
    """What is in the address. What is not understood there narrows nothing and is said at its field."""

    brand = forms.TypedChoiceField(label=gettext_lazy("Brand"), required=False, coerce=int, empty_value=None)
    status = forms.TypedChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        coerce=Status,
        empty_value=None,
        choices=[("", gettext_lazy("All codes")), *Status.choices],
    )
    first_day = forms.DateField(label=gettext_lazy("From"), required=False, validators=[moments.check])
    last_day = forms.DateField(label=gettext_lazy("To"), required=False, validators=[moments.check])
    location = forms.CharField(label=gettext_lazy("Location"), required=False, max_length=200)
    campaign = forms.TypedChoiceField(label=gettext_lazy("Campaign"), required=False, coerce=int, empty_value=None)

    def __init__(self, data: QueryDict, *, brands: Sequence[Brand]) -> None:
        super().__init__(data)
        campaigns = Campaign.objects.filter(brand__in=brands).order_by("campaign_name", "pk")
        names = {brand.pk: brand.name for brand in brands}
        self.brands = brands
        self.places: tuple[str, ...] = ()
        self.choose("brand", [("", _("All brands")), *names.items()])
        self.choose(
            "campaign",
            [
                ("", _("All campaigns")),
                *(
                    (it.pk, it.campaign_name if len(brands) == 1 else f"{it.campaign_name} ({names[it.brand_id]})")
                    for it in campaigns
                ),
            ],
        )
        if len(brands) == 1:
            del self.fields["brand"]
        for name in ("brand", "status", "campaign"):
            if name in self.fields:
                self.fields[name].widget = SelectWidget(choices=self.fields[name].choices)  # type: ignore[attr-defined]
        for name in ("first_day", "last_day"):
            self.fields[name].widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date", "class": INPUT})
        self.fields["location"].widget.attrs |= {
            "class": INPUT,
            "list": "places",
            "placeholder": _("City or region"),
            "autocomplete": "off",
            "data-suggestions": reverse("admin:authcodes_authcode_places"),
        }

    def choose(self, name: str, choices: list[tuple[Any, Any]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def clean_location(self) -> str:
        typed: str = self.cleaned_data["location"].strip()
        try:
            self.places = tuple(place_search.meant(typed, place_search.scanned_places(self.brands))) if typed else ()
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return typed

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first_day"), cleaned.get("last_day")
        if first and last and first > last:
            self.add_error("last_day", _("This day lies before the first one."))
        return cleaned

    @property
    def chosen(self) -> list[Brand]:
        self.full_clean()
        chosen = self.cleaned_data.get("brand")
        return [brand for brand in self.brands if chosen in {None, brand.pk}]

    @property
    def filters(self) -> Filters:
        found = self.cleaned_data
        return Filters(
            found.get("status"),
            found.get("first_day"),
            found.get("last_day"),
            found.get("location") or "",
            found.get("campaign"),
            places=self.places,
        )


@dataclass(frozen=True, slots=True)
class Card:
    """A figure. `percent`: how far its bar goes; `link`: the list of what it counts, None where no list can say it."""

    title: str
    value: str
    note: str = ""
    percent: float | None = None
    link: str | None = None
    colour: str = "text-primary-600"
    fill: str = "currentColor"


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next while there is nothing to show."""

    title: str
    words: str
    link: str
    button: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """How many attempts at codes or passwords the limits stopped at a brand today, and the list that tells more."""

    brand: Brand
    kind: str
    number: int
    link: str | None = None

    @property
    def words(self) -> str:
        words = {
            stopped_attempts.CODES: _("%(brand)s: %(number)s attempts at codes were stopped today (UTC)."),
            stopped_attempts.LOGINS: _("%(brand)s: %(number)s logins of customers were stopped today (UTC)."),
        }
        reasons = {
            stopped_attempts.CODES: _("Somebody tries more different codes than customers do."),
            stopped_attempts.LOGINS: _("Somebody tries passwords."),
        }
        told = words[self.kind] % {"brand": self.brand, "number": f"{self.number:,}"}
        return f"{told} {reasons[self.kind]}"


@dataclass(frozen=True, slots=True)
class CodeRunNotice:
    """Neighbouring codes that were scanned one after the other, and the list of these scans."""

    run: Run
    brand: Brand
    link: str | None

    @property
    def words(self) -> str:
        words = _(
            "%(brand)s: %(codes)d neighbouring codes of %(batch)s were scanned in a row (%(first)s to %(last)s). "
            "Somebody may be guessing codes, or a shop has opened a carton."
        )
        told = {"brand": self.brand, "codes": self.run.codes, "batch": self.run.batch}
        return words % {**told, "first": self.run.first_code, "last": self.run.last_code}


@dataclass(frozen=True, slots=True)
class FakeReportNotice:
    """How many reports of suspected fakes are open, and the list of them."""

    number: int
    link: str | None


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What settings.UNFOLD["DASHBOARD_CALLBACK"] calls: the front page's context."""
    visible = brands_within(roles.reach(request.user, VIEW, CODES))
    form = FilterForm(request.GET, brands=visible)
    brands = form.chosen
    filters = form.filters
    page = Page(request, brands, filters, several=len(visible) > 1)
    told = {"form": form, "narrowed": any(request.GET.values()), "shown": page, "title": _("Overview")}
    told["shortcuts"] = home.shortcuts(request)
    if home.mainly_prints(request):
        told |= {"printable": home.printable(request, brands), "several": len(visible) > 1}
    return {**context, **told}


def brands_within(reach: Reach) -> list[Brand]:
    return list(reach.of(Brand.objects.all(), "pk")) if reach else []


class Page:
    """The figures that this person may see, made ready for the template."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], filters: Filters, *, several: bool) -> None:
        self.request, self.brands, self.filters = request, brands, filters
        self.links = Links(request, brands, filters, several=several)
        self.codes = dashboards.codes(brands=brands, filters=filters)
        scan_brands = self.those(VIEW, SCANS)
        self.sees_scans = bool(scan_brands)
        self.scans = dashboards.scans(brands=scan_brands, filters=filters) if scan_brands else Scans()
        event_brands = self.those(VIEW, EVENTS)
        self.sees_events = bool(event_brands)
        self.delivery = dashboards.delivery(brands=event_brands) if event_brands else Delivery()

    def those(self, verb: str, label: str) -> list[Brand]:
        within = roles.reach(self.request.user, verb, label)
        return [brand for brand in self.brands if brand.pk in within]

    @property
    def approvals(self) -> int:
        """Requests for points above the ceiling that wait for this person's decision."""
        return waiting_for(self.request, list(self.brands))

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
        found = [
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
            for title, count, outcome, name in found
        ]

    @property
    def products(self) -> list[Card]:
        return ranked(
            self.scans.products, lambda top: self.links.scans(outcome__exact="success", product__id__exact=top.id)
        )

    @property
    def places(self) -> list[Card]:
        tops = [replace(top, name=place_names.short(top.name)) for top in self.scans.places]
        return ranked(tops, lambda top: self.links.scans(outcome__exact="success", location=top.id))

    @property
    def recalled(self) -> Card:
        return Card(
            _("Scans of recalled products"),
            number(self.scans.recalled),
            _("Each of these customers was told to stop and whom to ask."),
            link=self.links.scans(reason__exact="recalled"),
        )

    @property
    def events(self) -> list[Card]:
        return event_cards(self.delivery, self.links, self.brands)

    @property
    def short_quotas(self) -> list[Usage]:
        """Those of which little or nothing is left."""
        brands = self.those(VIEW, QUOTAS)
        found = [usage for each in quotas.usage_of(brands) for usage in each.usages if usage.is_near]
        return sorted(found, key=lambda usage: -(usage.percent or 0))[:MOST_NOTICES]

    @property
    def stopped_attempts(self) -> list[Stopped]:
        """Of today, for those who see the brand's quotas: somebody tries codes or passwords."""
        brands = self.those(VIEW, QUOTAS)
        numbers = stopped_attempts.today([brand.pk for brand in brands])
        links = {stopped_attempts.CODES: self.links.scans(reason__exact="unknown")} if numbers else {}
        found = [
            Stopped(brand, kind, numbers[brand.pk, kind], links.get(kind))
            for brand in brands
            for kind in stopped_attempts.KINDS
            if numbers.get((brand.pk, kind), 0) >= WORTH_A_NOTICE[kind]
        ]
        return sorted(found, key=lambda each: -each.number)[:MOST_NOTICES]

    @property
    def code_runs(self) -> list[CodeRunNotice]:
        """Codes of plain batches that somebody seems to have counted on to."""
        brands = {brand.pk: brand for brand in self.those(VIEW, SCANS)}
        return [
            CodeRunNotice(run, brands[run.brand_id], self.scans_of(run, brands[run.brand_id]))
            for run in code_runs.of(list(brands))
        ]

    def scans_of(self, run: Run, brand: Brand) -> str | None:
        days = {"scanned_at_from": run.first_at, "scanned_at_to": run.last_at}
        on = {name: str(at.astimezone(brand.zone).date()) for name, at in days.items()}
        return self.links.address(SCANS, {"batch__id__exact": run.batch_id, **on})

    @property
    def fake_reports(self) -> FakeReportNotice | None:
        """Reports of suspected fakes that wait for somebody."""
        brands = self.those(VIEW, REPORTS)
        number = fake_reports.open_at(brand.pk for brand in brands) if brands else 0
        return FakeReportNotice(number, self.links.address(REPORTS, {"state__exact": "open"})) if number else None

    @property
    def stopped_webhooks(self) -> list[WebhookEndpoint]:
        """Those that the service switched off, until somebody enables them or says that they stay off."""
        brands = self.those(VIEW, WEBHOOKS)
        if not brands:
            return []
        stopped = WebhookEndpoint.objects.stopped_by_itself().filter(brand__in=brands)
        return list(stopped.select_related("brand")[:MOST_NOTICES])

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
        if NoticeSettings.objects.filter(brand__in=self.brands, is_active=True).exists():
            return []
        title, label = _("Set up notifications"), "loyalty.noticesettings"
        if not self.those(ADD, label):
            return [Step(title, _("An owner or manager does this next."), "", "")]
        text = _("Customers are told nothing but recalls and what concerns their account.")
        return [Step(title, text, reverse("admin:loyalty_noticesettings_changelist"), title)]

    def step(self, label: str, title: str, words: str) -> list[Step]:
        if not self.those(ADD, label):
            return [Step(title, _("An owner or manager does this next."), "", "")]
        return [Step(title, words, reverse(f"admin:{label.replace('.', '_')}_add"), title)]

    @property
    def nothing_found(self) -> bool:
        return not (self.codes.assigned or self.scans.total or self.steps)


class Links:
    """Addresses of the lists that show exactly what a figure counts; the lists ask dashboard_filters as well."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], filters: Filters, *, several: bool) -> None:
        self.request, self.filters = request, filters
        self.zones = {brand.time_zone for brand in brands}
        self.own = {"brand__id__exact": brands[0].pk} if several and len(brands) == 1 else {}

    def codes(self, status: str | None = None, **more: Any) -> str | None:
        """Codes that have a product."""
        found = {"status": status or self.filters.status, f"batch__{CAMPAIGN}": self.filters.campaign_id}
        return self.address(CODES, {"assigned": "yes", **found, **more})

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
        found = {"status": filters.status, "location": filters.location, CAMPAIGN: filters.campaign_id}
        return self.address(SCANS, {**found, **self.days("scanned_at"), **more})

    def days(self, field: str) -> dict[str, str]:
        """Each brand's own, as the lists read them."""
        ends = {"from": self.filters.first_day, "to": self.filters.last_day}
        return {f"{field}_{end}": str(day) for end, day in ends.items() if day}

    def address(self, label: str, parameters: dict[str, Any]) -> str | None:
        """A list, or None where it has no such filter: it would refuse the address."""
        given = {name: str(value) for name, value in {**parameters, **self.own}.items() if value not in {None, ""}}
        listed = page_of(label)
        if not all(listed.lookup_allowed(name, value, self.request) for name, value in given.items()):
            return None
        return f"{list_of(label)}?{urlencode(given)}"


def list_of(label: str) -> str:
    return reverse(f"admin:{label.replace('.', '_')}_changelist")


def code_cards(codes: Codes, links: Links) -> list[Card]:
    by_scan = links.filters.by_scan
    return [
        Card(_("Assigned codes"), number(codes.assigned), _("have a product"), link=links.codes()),
        Card(
            _("Scanned"),
            number(codes.scanned),
            _("first scanned then and there") if by_scan else _("of the assigned"),
            codes.scanned_percent,
            links.scanned_codes(),
        ),
        Card(
            _("Unscanned"),
            number(codes.unscanned),
            _("not first scanned then and there") if by_scan else _("of the assigned"),
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
        Card(_("Unique scanners"), number(scans.scanners), _("customers"), link=links.scans(user__gt=0)),
    ]


def event_cards(delivery: Delivery, links: Links, brands: Sequence[Brand]) -> list[Card]:
    oldest = ""
    if delivery.oldest_at:
        at = timezone.localtime(delivery.oldest_at, brands[0].zone if len(links.zones) == 1 else None)
        oldest = _("the oldest since %(at)s") % {"at": date_format(at, "j M, H:i")}
    return [
        Card(
            _("Events waiting"),
            number(delivery.pending),
            oldest or _("nothing is waiting"),
            link=links.address(EVENTS, {"status__exact": "pending"}),
        ),
        Card(
            _("Events given up"),
            number(delivery.dead),
            _("look at them and redeliver") if delivery.dead else _("nothing was given up"),
            link=links.address(EVENTS, {"status__exact": "dead"}),
            colour="text-red-600" if delivery.dead else "",
        ),
    ]


def ranked(tops: Sequence[Top], link: Any) -> list[Card]:
    most = tops[0].scans if tops else 0
    return [Card(top.name, number(top.scans), "", share(top.scans, most), link(top)) for top in tops]


def chart_of(days: Sequence[Day], filters: Filters) -> str:
    """What unfold's chart reads: a bar for each day or, where these are many, for so many days that the bars fit."""
    if not days:
        return ""
    first, last = filters.first_day or days[0].day, filters.last_day or days[-1].day
    first, last = max(first, days[0].day - timedelta(days=MOST_BARS)), max(last, days[-1].day)
    step = 1
    while (last - first).days // step >= MOST_BARS:
        step = 7 if step == 1 else step * 2
    bars = [[0, 0, 0] for _bar in range((last - first).days // step + 1)]
    for day in days:
        bar = bars[(day.day - first).days // step]
        for place, count in enumerate((day.accepted, day.warnings, day.errors)):
            bar[place] += count
    begins = [first + timedelta(days=step * place) for place in range(len(bars))]
    words = [(_("Accepted"), "accepted"), (_("Warnings"), "warnings"), (_("Errors"), "errors")]
    data = {
        "labels": [date_format(day, "j M") for day in begins],
        "datasets": [
            {"label": label, "data": [bar[place] for bar in bars], "backgroundColor": COLOURS[name]}
            for place, (label, name) in enumerate(words)
        ],
    }
    return json.dumps(data)


def number(value: Any) -> str:
    return f"{value:,.2f}".removesuffix(".00") if not isinstance(value, int) else f"{value:,}"


def share(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
