"""The form for whether and when a brand's levels end."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.models.level_periods import MIN_DAYS, MIN_DAYS_OF_MONTH
from brands.models.tenants import Brand
from loyalty.points.level_periods.rules import LIFETIME, ROLLING, LevelRule, rule_from
from portal.base.confirmation import reason_field
from portal.unfold import NumberWidget, RadioWidget

RULE_FIELDS = ("level_period", "level_period_months", "level_grace_days", "level_warning_days")


class LevelPeriodForm(forms.Form):
    """The rule of one brand. Saving requires a reason; a preview does not."""

    brand = forms.CharField(widget=forms.HiddenInput)  # the page reads it
    level_period = forms.ChoiceField(
        label=gettext_lazy("How long members keep a level"),
        choices=Brand.LevelPeriod.choices,
        widget=RadioWidget,
        help_text=gettext_lazy(
            "By calendar: only the points of a period count, and a level stays until the end of the next period. By "
            "the last months: a level stays for as many months from the day on which it is reached. At its end, "
            "members who earned its points again in that time keep it; the others fall to the level of the points that "
            "they earned."
        ),
    )
    level_period_months = forms.IntegerField(
        label=gettext_lazy("Number of months"),
        required=False,
        min_value=1,
        max_value=60,
        widget=NumberWidget,
        help_text=gettext_lazy("1 to 60. Used only with “By the last months”."),
    )
    level_grace_days = forms.IntegerField(
        label=gettext_lazy("Days of grace"),
        min_value=0,
        max_value=365,
        widget=NumberWidget,
        help_text=gettext_lazy(
            "For this many days after the end, members keep the level and can still earn what is missing. 0 for none."
        ),
    )
    level_warning_days = forms.IntegerField(
        label=gettext_lazy("Warn members this many days before the end"),
        min_value=0,
        max_value=365,
        widget=NumberWidget,
        help_text=gettext_lazy("The notification says what is missing, and until when. Enter 0 to send none."),
    )
    reason = reason_field(gettext_lazy("Shown to staff in the audit log."))

    def __init__(self, data: QueryDict | None, *, brand: Brand, reason_required: bool) -> None:
        super().__init__(data, initial={"brand": brand.pk, **{name: getattr(brand, name) for name in RULE_FIELDS}})
        self.for_brand = brand
        self.fields["reason"].required = reason_required

    def clean_level_period_months(self) -> int:
        """Calendar periods keep the number that the brand has."""
        months: int | None = self.cleaned_data["level_period_months"]
        if months is None and self.cleaned_data.get("level_period") == ROLLING:
            field = self.fields["level_period_months"]
            raise forms.ValidationError(field.error_messages["required"], code="required")
        return self.for_brand.level_period_months if months is None else months

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kind, months = cleaned.get("level_period"), cleaned.get("level_period_months")
        if kind in {None, LIFETIME} or months is None:
            return cleaned
        if kind == ROLLING:
            days = months * MIN_DAYS_OF_MONTH
            message = _("Enter at most %(most)d days: fewer than %(days)d for each month of the period.")
            values = {"most": days - 1, "days": MIN_DAYS_OF_MONTH}
        else:
            days = MIN_DAYS[str(kind)]
            message = _("Enter at most %(most)d days: the period itself can be as short as %(days)d days.")
            values = {"most": days - 1, "days": days}
        for name in ("level_grace_days", "level_warning_days"):
            if (cleaned.get(name) or 0) >= days:
                self.add_error(name, message % values)
        return cleaned

    @property
    def values(self) -> Mapping[str, Any]:
        return {name: self.cleaned_data[name] for name in RULE_FIELDS}

    @property
    def rule(self) -> LevelRule | None:
        return rule_from(
            kind=self.cleaned_data["level_period"],
            months=self.cleaned_data["level_period_months"],
            grace_days=self.cleaned_data["level_grace_days"],
            warning_days=self.cleaned_data["level_warning_days"],
            zone=self.for_brand.zone,
        )
