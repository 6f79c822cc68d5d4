"""Forms for the input of a replay: the number of days, and a rule, campaign or levels as the draft."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from campaigns.replay import drafts, jobs
from campaigns.replay.drafts import Draft
from core.forms.digits import AsciiDigits
from loyalty.models.levels import RewardType
from loyalty.points import levels
from loyalty.points.levels import Level
from portal.unfold import NumberWidget, SelectWidget, TextWidget

USUAL_DAYS = 30
MORE_LEVELS = 3  # empty rows after the brand's levels


class DaysForm(AsciiDigits, forms.Form):
    """The number of days whose actions are replayed."""

    days = forms.IntegerField(
        label=gettext_lazy("Days"), min_value=jobs.MIN_DAYS, initial=USUAL_DAYS, widget=NumberWidget
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        most, field = jobs.max_days(), self.fields["days"]
        field.initial = min(USUAL_DAYS, most)
        field.validators.append(MaxValueValidator(most))
        field.help_text = _(
            "The number of past days, including today. Enter at most %(most)d, as long as actions are kept."
        ) % {"most": most}


class DraftForm(DaysForm):
    """A form for one kind of draft, with the days last. `row`: the rule or campaign whose page linked here."""

    def __init__(self, data: Any, *, brand: Brand, row: str = "") -> None:
        self.brand = brand
        super().__init__(data)
        self.offer(row)
        self.order_fields([*(name for name in self.fields if name != "days"), "days"])

    def offer(self, row: str) -> None:
        """Fill in the available choices."""

    def draft(self) -> Draft:
        """The chosen draft. Raises Invalid."""
        raise NotImplementedError


class RuleChoice(DraftForm):
    rule = forms.ModelChoiceField(label=gettext_lazy("Rule"), queryset=EarningRule.objects.none(), widget=SelectWidget)

    def offer(self, row: str) -> None:
        field: Any = self.fields["rule"]
        field.queryset = EarningRule.objects.filter(brand=self.brand).order_by("name")
        field.initial = row
        field.help_text = _("Replays the rule as it is saved now, and as if it had run all the time.")

    def draft(self) -> Draft:
        return drafts.of_rule(self.cleaned_data["rule"])


class CampaignChoice(DraftForm):
    campaign = forms.ModelChoiceField(
        label=gettext_lazy("Campaign"), queryset=Campaign.objects.none(), widget=SelectWidget
    )
    instead_of = forms.ModelChoiceField(
        label=gettext_lazy("Replaced campaign"), queryset=Campaign.objects.none(), required=False, widget=SelectWidget
    )

    def offer(self, row: str) -> None:
        rows = Campaign.objects.filter(brand=self.brand).order_by("campaign_name", "-pk")
        for name in ("campaign", "instead_of"):
            field: Any = self.fields[name]
            field.queryset = rows
        self.fields["campaign"].initial = row
        self.fields["campaign"].help_text = _(
            "Replays the campaign as it is saved now, from the first of these days. To replay with a change, "
            "duplicate a campaign and change the copy, which stays switched off."
        )
        self.fields["instead_of"].help_text = _(
            "What this campaign really paid is left out, as if the campaign above had run instead. What the campaign "
            "above really paid is always left out."
        )

    def draft(self) -> Draft:
        return drafts.of_campaign(self.cleaned_data["campaign"], instead_of=self.cleaned_data["instead_of"])


class LevelsDraft(DraftForm):
    """The brand's levels as rows that can be changed, removed and added; a row without a name is ignored."""

    def offer(self, row: str) -> None:
        own = levels.levels_of(self.brand)
        self.numbers = range(min(len(own) + MORE_LEVELS, drafts.MAX_LEVELS))
        for number in self.numbers:
            level = own[number] if number < len(own) else None
            for name, field in self._row(level).items():
                self.fields[f"{name}-{number}"] = field

    @staticmethod
    def _row(level: Level | None) -> dict[str, forms.Field]:
        def value(number: Decimal) -> str:
            return f"{number.normalize():f}"

        number: dict[str, Any] = {"max_digits": 12, "decimal_places": 2, "min_value": 0, "required": False}
        return {
            "name": forms.CharField(
                label=gettext_lazy("Level"),
                max_length=60,
                required=False,
                widget=TextWidget,
                initial=level.name if level else "",
            ),
            "threshold": forms.DecimalField(
                **number,
                label=gettext_lazy("Lifetime points"),
                widget=TextWidget(attrs={"inputmode": "decimal"}),
                initial=value(level.threshold) if level else None,
            ),
            "type": forms.ChoiceField(
                label=gettext_lazy("A scan earns"),
                choices=RewardType.choices,
                required=False,
                widget=SelectWidget,
                initial=level.scan_reward_type if level else None,
            ),
            "value": forms.DecimalField(
                **{**number, "max_digits": 10},
                label=gettext_lazy("Points or percent"),
                widget=TextWidget(attrs={"inputmode": "decimal"}),
                initial=value(level.scan_reward_value) if level else None,
            ),
        }

    @property
    def rows(self) -> Sequence[Sequence[Any]]:
        """Each level's form fields, for the table."""
        return [
            [self[f"{name}-{number}"] for name in ("name", "threshold", "type", "value")] for number in self.numbers
        ]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for number in self.numbers:
            if cleaned.get(f"name-{number}"):
                for name in ("threshold", "value"):
                    key = f"{name}-{number}"
                    if key not in self.errors and cleaned.get(key) is None:
                        self.add_error(key, _("Write a number."))
        return cleaned

    def draft(self) -> Draft:
        data = self.cleaned_data
        rows = [
            Level(
                data[f"name-{number}"],
                data[f"threshold-{number}"],
                data[f"type-{number}"] or RewardType.POINTS.value,
                data[f"value-{number}"],
            )
            for number in self.numbers
            if data[f"name-{number}"]
        ]
        return drafts.of_levels(self.brand, rows)
