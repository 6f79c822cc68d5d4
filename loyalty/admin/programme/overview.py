"""What the programme page displays: the figures of one brand, prepared for the template."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from brands.tenants.closed_days import DAY
from core import moments
from core.numbers import format_number, grouped, rounded
from loyalty.points.expiry_rules import months_later
from loyalty.programme.figures import MAX_MONTHS, Cohort, Figures, default_months
from loyalty.programme.movements import EARNED, EXPIRED, MOVEMENTS, OF_BALANCE, REDEEMED
from loyalty.programme.roll_forward import Month
from portal.base.links import admin_address
from portal.figures import cards
from portal.figures.cards import Card, percent_of
from portal.figures.charts import chart_options
from portal.unfold import SelectWidget

LEDGER, MEMBERS, COSTS = "loyalty.loyaltytransaction", "loyalty.userpoints", "loyalty.pointcost"
COLOURS = {EARNED: "var(--color-primary-600)", REDEEMED: "#16a34a", EXPIRED: "#f59e0b"}
MAX_COHORT_MONTHS = 12
INPUT = (
    "border border-base-200 bg-white font-medium min-w-20 rounded-default shadow-xs text-font-default-light text-sm "
    "dark:bg-base-900 dark:border-base-700 dark:text-font-default-dark dark:scheme-dark px-3 py-2 w-full"
)


class MonthField(forms.DateField):
    """A month in the format of browsers, such as 2026-03. The value is its first day."""

    widget = forms.DateInput(format="%Y-%m", attrs={"type": "month", "class": INPUT})
    input_formats = ("%Y-%m",)


class PeriodForm(forms.Form):
    """The brand and its months. An invalid value is ignored, and its field shows an error."""

    brand = forms.TypedChoiceField(label=gettext_lazy("Brand"), required=False, coerce=int, empty_value=None)
    first = MonthField(label=gettext_lazy("From"), required=False, validators=[moments.check])
    last = MonthField(label=gettext_lazy("To"), required=False, validators=[moments.check])

    def __init__(self, data: QueryDict, *, brands: Sequence[Brand], at: Any) -> None:
        super().__init__(data.copy())
        self.brands, self.at = brands, at
        if not (data.get("first") or data.get("last")):  # so that the fields show the default period
            brand = next((each for each in brands if str(each.pk) == data.get("brand")), brands[0])
            usual = zip(("first", "last"), default_months(brand, at), strict=True)
            self.data.update({name: f"{month:%Y-%m}" for name, month in usual})  # type: ignore[attr-defined] # a QueryDict
        field: Any = self.fields["brand"]
        field.choices = [(brand.pk, brand.name) for brand in brands]
        field.widget = SelectWidget(choices=field.choices)
        if len(brands) == 1:
            del self.fields["brand"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and first > last:
            self.add_error("last", _("The last month must not be before the first month."))
        elif first and last and months_later(first, MAX_MONTHS) <= last:
            self.add_error("last", _("Choose at most %(most)d months.") % {"most": MAX_MONTHS})
        return cleaned

    @property
    def chosen(self) -> Brand:
        """The chosen brand, or the first one."""
        self.full_clean()
        chosen = self.cleaned_data.get("brand")
        return next((brand for brand in self.brands if brand.pk == chosen), self.brands[0])

    @property
    def months(self) -> tuple[date, date]:
        """The requested months. A missing bound is derived from the other one."""
        first, last = self.cleaned_data.get("first"), self.cleaned_data.get("last")
        usual_first, usual_last = default_months(self.chosen, self.at)
        if self.errors or not (first or last):
            return usual_first, usual_last
        span = 1 - (usual_last.year * 12 + usual_last.month - usual_first.year * 12 - usual_first.month + 1)
        if last and not first:
            return months_later(last, span), last
        first = first or usual_first
        return first, last or min(months_later(first, MAX_MONTHS - 1), max(first, usual_last))


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    cells: list[Cell]
    note: str = ""


class Programme:
    """One brand's figures, with links to the underlying rows for users who may view these."""

    def __init__(self, request: HttpRequest, brand: Brand, figures: Figures, *, several: bool) -> None:
        self.request, self.brand, self.figures, self.several = request, brand, figures, several

    # --- Links

    def ledger(self, movement: str, first: date, last: date) -> str | None:
        own = {"brand__id__exact": self.brand.pk} if self.several else {}
        days = {"created_at_from": first, "created_at_to": last}
        return cards.address(self.request, LEDGER, {"movement": movement, **days, **own})

    def members(self, **more: Any) -> str | None:
        own = {"brand__id__exact": self.brand.pk} if self.several else {}
        return cards.address(self.request, MEMBERS, {**more, **own})

    def of_period(self, movement: str) -> str | None:
        return self.ledger(movement, self.figures.months[0].month, self.figures.last.last_day)

    # --- Cards

    @cached_property
    def cards(self) -> list[Card]:
        figures, last = self.figures, self.figures.last
        day = date_format(last.last_day, "SHORT_DATE_FORMAT")
        return [
            Card(_("Outstanding points"), format_number(last.closing), _("on balances on %(day)s") % {"day": day},
                 link=self.members()),
            self.liability,
            Card(_("Pending points"), format_number(last.pending), _("of orders, not yet on balances")),
            Card(_("Owed points"), format_number(figures.owed), _("of returned orders, spent already")),
            Card(_("Redemption rate"), percent(figures.redemption_rate), _("of the points earned in this period"),
                 link=self.of_period(REDEEMED)),
            Card(_("Breakage"), percent(figures.breakage),
                 _("the share that expired, of the points redeemed or expired"), link=self.of_period(EXPIRED)),
        ]  # fmt: skip

    @property
    def liability(self) -> Card:
        last = self.figures.last
        if last.liability is None:
            return Card(_("Liability"), "-", _("set a cost per point"), link=admin_address(COSTS, "changelist"))
        cost = {"cost": grouped(Decimal(f"{last.cost:f}".rstrip("0").rstrip("."))), "currency": last.currency}
        return Card(
            _("Liability"),
            money(last),
            _("what members can still redeem, at %(cost)s %(currency)s a point") % cost,
            link=admin_address(COSTS, "changelist"),
        )

    @property
    def member_cards(self) -> list[Card]:
        rows = self.figures.members
        if not rows:
            return []
        last = rows[-1]
        month = date_format(last.month, "F Y")
        to = months_later(last.month, 1) - DAY
        return [
            Card(_("Active members"), grouped(last.active), _("earned or redeemed in %(month)s") % {"month": month}),
            Card(_("New members"), grouped(last.enrolled), _("enrolled in %(month)s") % {"month": month},
                 link=self.members(enrolled_at_from=last.month, enrolled_at_to=to)),
            Card(_("Lapsed members"), grouped(last.lapsed), _("no activity for six months")),
        ]  # fmt: skip

    # --- Tables

    @property
    def movement_labels(self) -> list[str]:
        return [str(each.label) for each in OF_BALANCE]

    @property
    def roll_forward(self) -> list[Row]:
        """Latest first."""
        return [self.line(month) for month in reversed(self.figures.months)]

    def line(self, month: Month) -> Row:
        moved = [
            Cell(
                format_number(each.sign * month.points[each.name]),
                self.ledger(each.name, month.month, month.last_day) if month.points[each.name] else None,
            )
            for each in OF_BALANCE
        ]
        liability = Cell("-" if month.liability is None else money(month))
        note = "" if month.is_over else _("to date")
        ends = [Cell(format_number(month.closing)), liability]
        return Row(
            date_format(month.month, "YEAR_MONTH_FORMAT"), [Cell(format_number(month.opening)), *moved, *ends], note
        )

    @property
    def expiring(self) -> list[Card]:
        result = self.figures.expiring
        most = max(result.values(), default=Decimal(0))
        return [
            Card(date_format(month, "F Y"), format_number(points), percent=float(100 * points / most) if most else 0)
            for month, points in result.items()
        ]

    @property
    def levels(self) -> list[Card]:
        total = sum(each.members for each in self.figures.levels)
        return [
            Card(
                each.level or _("No level reached"),
                grouped(each.members),
                percent=percent_of(each.members, total),
                link=self.members(level=each.level or "-"),
            )
            for each in self.figures.levels
        ]

    @property
    def member_rows(self) -> list[Row]:
        return [
            Row(
                date_format(each.month, "YEAR_MONTH_FORMAT"),
                [
                    Cell(
                        grouped(each.enrolled),
                        self.members(enrolled_at_from=each.month, enrolled_at_to=months_later(each.month, 1) - DAY),
                    ),
                    Cell(grouped(each.active)),
                    Cell(grouped(each.lapsed)),
                ],
            )
            for each in reversed(self.figures.members)
        ]

    @property
    def cohort_headings(self) -> range:
        return range(max((len(each.active) for each in self._cohorts), default=0))

    @property
    def cohorts(self) -> list[Row]:
        return [
            Row(
                date_format(each.month, "YEAR_MONTH_FORMAT"),
                [Cell(f"{percent:.0f} %") for percent in each.percents],
                grouped(each.enrolled),
            )
            for each in self._cohorts
        ]

    @property
    def _cohorts(self) -> Sequence[Cohort]:
        return self.figures.cohorts[-MAX_COHORT_MONTHS:]

    @property
    def chart(self) -> dict[str, str]:
        labels = {each.name: str(each.label) for each in MOVEMENTS}
        data = {
            "labels": [date_format(month.month, "YEAR_MONTH_FORMAT") for month in self.figures.months],
            "datasets": [
                {
                    "label": labels[name],
                    "data": [float(month.points[name]) for month in self.figures.months],
                    "backgroundColor": colour,
                }
                for name, colour in COLOURS.items()
            ],
        }
        return {"data": json.dumps(data), "options": json.dumps(chart_options())}


def percent(number: float | None) -> str:
    return "-" if number is None else f"{rounded(number, 1)} %"


def money(month: Month) -> str:
    return f"{'-' if month.liability is None else grouped(month.liability)} {month.currency}"
