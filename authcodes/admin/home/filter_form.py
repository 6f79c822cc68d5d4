"""The filter form of Home."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.dashboard.filters import Filters, Status
from authcodes.dashboard.home import MAX_DAYS
from authcodes.places import search
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core import moments
from core.errors import DomainError
from core.forms.digits import AsciiDigits
from portal.unfold import SelectWidget

INPUT = (
    "border border-base-200 bg-white font-medium min-w-20 placeholder-base-400 rounded-default shadow-xs "
    "text-font-default-light text-sm focus:outline-2 focus:-outline-offset-2 focus:outline-primary-600 "
    "dark:bg-base-900 dark:border-base-700 dark:text-font-default-dark dark:scheme-dark px-3 py-2 w-full"
)


class FilterForm(AsciiDigits, forms.Form):
    """Reads the address. An invalid value filters nothing, and its error appears at its field."""

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
            self.places = tuple(search.find(typed, search.scanned_places(self.brands))) if typed else ()
        except DomainError as error:
            raise forms.ValidationError(error.message) from error
        return typed

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first_day"), cleaned.get("last_day")
        if first and last and first > last:
            self.add_error("last_day", _("The last day must not be before the first day."))
        elif first and last and (last - first).days >= MAX_DAYS:
            self.add_error("last_day", _("Choose at most %(most)d days.") % {"most": MAX_DAYS})
        return cleaned

    @property
    def chosen(self) -> list[Brand]:
        self.full_clean()
        chosen = self.cleaned_data.get("brand")
        return [brand for brand in self.brands if chosen in {None, brand.pk}]

    @property
    def filters(self) -> Filters:
        result = self.cleaned_data
        return Filters(
            result.get("status"),
            result.get("first_day"),
            result.get("last_day"),
            result.get("location") or "",
            result.get("campaign"),
            places=self.places,
        )
