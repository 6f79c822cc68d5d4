"""The form of the wizard: audience, goal and milestones, dates, limits, and texts."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from brands.tenants.local_time import last_second, midnight
from campaigns.admin.milestone_form import above_ceiling, above_goal
from campaigns.admin.wizard import wizard_conditions
from campaigns.admin.wizard.milestone_rows import (
    MAX_GOAL,
    NEW,
    NOTHING,
    POINTS,
    ROWS,
    Row,
    offered_rewards,
    points_texts,
    reward_label,
    row_fields,
)
from campaigns.earning import choices
from campaigns.models.campaigns import Campaign, Milestone
from core.forms.digits import AsciiDigits
from core.numbers import is_id
from core.translations import NAMES, TRANSLATION_LANGUAGES
from portal.base.forms import DayField
from portal.unfold import CheckboxesWidget, NumberWidget, RadioWidget, SelectWidget, SwitchWidget, TextWidget


def checkboxes(label: Any, help_text: Any = "") -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(label=label, required=False, help_text=help_text, widget=CheckboxesWidget)


# What `fill` sets, except for the name and the start.
COMPARED = (
    "type",
    "step_by",
    "target_value",
    "is_repeatable",
    "conditions",
    "budget",
    "ends_at",
    "translations",
)


class WizardForm(AsciiDigits, forms.Form):
    """All steps in one form; each error is reported at its field."""

    audience = forms.ChoiceField(
        label=gettext_lazy("Members who can take part"),
        choices=[
            (wizard_conditions.ALL_MEMBERS, gettext_lazy("All members")),
            (wizard_conditions.LEVELS, gettext_lazy("Members of some levels")),
            (wizard_conditions.SEGMENTS, gettext_lazy("Members of a segment")),
        ],
        initial=wizard_conditions.ALL_MEMBERS,
        widget=RadioWidget,
    )
    levels = checkboxes(gettext_lazy("Levels"))
    segments = checkboxes(gettext_lazy("Segments"))
    products = checkboxes(gettext_lazy("Only these products"), gettext_lazy("Tick none for all products."))
    batches = checkboxes(gettext_lazy("Only these batches"), gettext_lazy("Tick none for all batches."))
    places = forms.CharField(
        label=gettext_lazy("Only scans in these cities"),
        required=False,
        max_length=500,
        widget=TextWidget,
        help_text=gettext_lazy("Separate them with commas, such as Berlin, Hamburg. Leave empty for everywhere."),
    )
    type = forms.ChoiceField(label=gettext_lazy("What counts"), choices=Campaign.Type.choices, widget=SelectWidget)
    step_by = forms.ChoiceField(
        label=gettext_lazy("How it counts"), choices=Campaign.StepBy.choices, widget=SelectWidget
    )
    target_value = forms.IntegerField(
        label=gettext_lazy("Goal"),
        min_value=1,
        max_value=MAX_GOAL,
        widget=NumberWidget,
        help_text=gettext_lazy("For example 10 scans, or 100 in your currency."),
    )
    is_repeatable = forms.BooleanField(
        label=gettext_lazy("Members who reach the goal begin again"), required=False, widget=SwitchWidget
    )
    starts_on = DayField(
        label=gettext_lazy("First day"),
        required=False,
        help_text=gettext_lazy("Leave empty to begin when you launch it."),
    )
    ends_on = DayField(
        label=gettext_lazy("Last day"), required=False, help_text=gettext_lazy("Leave empty to run until you end it.")
    )
    budget = forms.DecimalField(
        label=gettext_lazy("Budget in points"),
        required=False,
        min_value=Decimal("0.01"),
        max_digits=14,
        decimal_places=2,
        widget=TextWidget(attrs={"inputmode": "decimal"}),
        help_text=gettext_lazy(
            "The most points that all milestones may pay together. A milestone that costs more than what is left pays "
            "nothing. Leave empty for no limit."
        ),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=120, widget=TextWidget, help_text=gettext_lazy("Members see this name.")
    )

    def __init__(self, data: Any = None, *, brand: Brand, may_add_rewards: bool, **options: Any) -> None:
        self.brand = brand
        super().__init__(data, **options)
        for language in TRANSLATION_LANGUAGES:
            label = _("Name (%(language)s)") % {"language": NAMES[language]}
            attributes = {"lang": language, "dir": "auto"}
            self.fields[f"name_{language}"] = forms.CharField(
                label=label, max_length=120, required=False, widget=TextWidget(attrs=attributes)
            )
        self._offer("levels", "levels")
        self._offer("segments", "segments")
        self._offer("products", "products")
        self._offer("batches", "batches")
        self.rewards = {str(reward.pk): reward for reward in offered_rewards(brand)}
        gives = [(NOTHING, "—"), (POINTS, _("Points"))]
        gives += [(f"r{key}", reward_label(reward)) for key, reward in self.rewards.items()]
        if may_add_rewards:
            gives.append((NEW, _("A new reward…")))
        most = MaxValueValidator(Decimal(brand.max_points_per_scan), above_ceiling(Decimal(brand.max_points_per_scan)))
        for number in range(1, ROWS + 1):
            self.fields.update(row_fields(number, gives, most))

    def _offer(self, name: str, of: str) -> None:
        """Offer the brand's first choices, and what is ticked; the campaign's own form can search all of them."""
        field: Any = self.fields[name]
        offered = choices.options(self.brand, of)
        ticked = self.initial.get(name) or (self.data.getlist(name) if hasattr(self.data, "getlist") else [])
        ids = [int(each) for each in ticked if is_id(str(each))]
        missing = choices.labels_of(self.brand, of, set(ids) - {int(key) for key, _label in offered if is_id(key)})
        field.choices = [*offered, *((str(key), text) for key, text in missing.items())]

    # --- Output for the page

    @property
    def reward_names(self) -> dict[str, str]:
        """Names by choice value, as members read them."""
        return {f"r{key}": reward.name for key, reward in self.rewards.items()}

    @property
    def rows(self) -> Sequence[Row]:
        return [
            Row(
                number,
                self[f"at_{number}"],
                self[f"gives_{number}"],
                self[f"points_{number}"],
                self[f"new_{number}"],
                self[f"auto_{number}"],
            )
            for number in range(1, ROWS + 1)
        ]

    def named(self, *names: str) -> list[Any]:
        return [self[name] for name in names]

    @property
    def name_fields(self) -> list[Any]:
        return self.named("name", *(f"name_{language}" for language in TRANSLATION_LANGUAGES))

    @property
    def choice_fields(self) -> list[Any]:
        """The fields for products and batches, if the brand has any."""
        fields: list[Any] = self.named("products", "batches")
        return [bound for bound in fields if bound.field.choices]

    # --- Validation

    def clean_places(self) -> list[str]:
        return wizard_conditions.places_in(self.cleaned_data["places"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for chosen, name, text in (
            (wizard_conditions.LEVELS, "levels", _("Tick at least one level.")),
            (wizard_conditions.SEGMENTS, "segments", _("Tick at least one segment.")),
        ):
            if cleaned.get("audience") == chosen and not cleaned.get(name) and name not in self.errors:
                self.add_error(name, text)
        self._check_scope(cleaned)
        first, last = cleaned.get("starts_on"), cleaned.get("ends_on")
        if last and last < self.brand.day_at(timezone.now()):
            self.add_error("ends_on", _("This day is over. Choose today or later."))
        elif first and last and last < first:
            self.add_error("ends_on", _("The last day must not be before the first day."))
        self._check_rows(cleaned)
        return cleaned

    def _check_scope(self, cleaned: dict[str, Any]) -> None:
        """Reject places, batches and products for actions that have none."""
        kind = cleaned.get("type")
        if kind and kind != Campaign.Type.SCAN:
            for name, text in (
                ("places", _("Only scans have a place. Clear this field, or count scans.")),
                ("batches", _("Only scans have a batch. Tick none, or count scans.")),
            ):
                if cleaned.get(name):
                    self.add_error(name, text)
        if kind in {Campaign.Type.LOGIN, Campaign.Type.PROFILE} and cleaned.get("products"):
            self.add_error("products", _("Only scans and orders have products. Tick none, or count these."))

    def _check_rows(self, cleaned: dict[str, Any]) -> None:
        goal, seen = cleaned.get("target_value"), set[int]()
        for number in range(1, ROWS + 1):
            at, gives = cleaned.get(f"at_{number}"), cleaned.get(f"gives_{number}")
            if at is None and not gives:
                continue
            if at is None:
                if f"at_{number}" not in self.errors:
                    self.add_error(f"at_{number}", _("Enter the progress at which it is reached."))
                continue
            if goal and at > goal:
                self.add_error(f"at_{number}", above_goal(goal))
            if at in seen:
                self.add_error(f"at_{number}", _("Two milestones have this number."))
            seen.add(at)
            self._check_what_it_gives(cleaned, number, gives)
        if not seen and not any(self.has_error(f"at_{number}") for number in range(1, ROWS + 1)):
            self.add_error("at_1", _("Give members something: enter at least one milestone."))

    def _check_what_it_gives(self, cleaned: dict[str, Any], number: int, gives: str | None) -> None:
        if not gives:
            if f"gives_{number}" not in self.errors:
                self.add_error(f"gives_{number}", _("Choose what it gives."))
        elif gives == POINTS and not cleaned.get(f"points_{number}") and f"points_{number}" not in self.errors:
            self.add_error(f"points_{number}", _("Enter how many points it gives."))
        elif gives == NEW and not cleaned.get(f"new_{number}") and f"new_{number}" not in self.errors:
            self.add_error(f"new_{number}", _("Name the new reward."))

    # --- The campaign

    def fill(self, campaign: Campaign) -> None:
        """Set the campaign's fields from the answers; see `milestones_of` for its milestones."""
        cleaned, zone = self.cleaned_data, self.brand.zone
        first, last = cleaned["starts_on"], cleaned["ends_on"]
        campaign.brand = self.brand
        campaign.campaign_name = cleaned["name"]
        campaign.type, campaign.step_by = cleaned["type"], cleaned["step_by"]
        campaign.target_value, campaign.is_repeatable = cleaned["target_value"], cleaned["is_repeatable"]
        campaign.conditions = wizard_conditions.conditions_of(cleaned)
        campaign.budget = cleaned["budget"]
        campaign.starts_at = midnight(first, zone) if first else None
        campaign.ends_at = last_second(last, zone) if last else None
        texts = {language: cleaned[f"name_{language}"] for language in TRANSLATION_LANGUAGES}
        campaign.translations = {language: {"campaign_name": text} for language, text in texts.items() if text}

    def milestones_of(self, campaign: Campaign) -> list[tuple[Milestone, str]]:
        """The unsaved milestones, each with the name of the new reward that it gives, or an empty text."""
        cleaned, result = self.cleaned_data, []
        for number in range(1, ROWS + 1):
            at, gives = cleaned[f"at_{number}"], cleaned[f"gives_{number}"]
            if at is None:
                continue
            made = Milestone(campaign=campaign, threshold=at, auto_claim=cleaned[f"auto_{number}"] != "claim")
            new = ""
            if gives == POINTS:
                made.reward_points = cleaned[f"points_{number}"]
                made.reward_name, made.translations = points_texts(made.reward_points)
            elif gives == NEW:
                new = cleaned[f"new_{number}"]
            else:
                made.reward = self.rewards[gives.removeprefix("r")]
                made.reward_name = made.reward.name
            result.append((made, new))
        return result

    def makes(self, stored: Campaign, *, launches: bool) -> bool:
        """Whether the answers make this campaign and its milestones. A launch may have set its start."""
        made = Campaign(brand=self.brand)
        self.fill(made)
        if stored.is_active != launches or made.starts_at not in {None, stored.starts_at}:
            return False
        rows = [
            (each.threshold, new or each.reward_name, each.reward_points, each.auto_claim)
            for each, new in self.milestones_of(made)
        ]
        stored_rows = stored.milestones.values_list("threshold", "reward_name", "reward_points", "auto_claim")
        return sorted(rows) == sorted(stored_rows) and all(
            getattr(made, name) == getattr(stored, name) for name in COMPARED
        )


def has_usual_texts(milestone: Milestone) -> bool:
    """Whether it pays points and its texts are those that the wizard writes."""
    texts = (milestone.reward_name, milestone.translations)
    return bool(milestone.reward_points) and texts == points_texts(milestone.reward_points)


def initial_of(campaign: Campaign) -> dict[str, Any] | None:
    """The answers that make this campaign; None if it uses more than the wizard offers."""
    answers, zone = wizard_conditions.initial_of(campaign.conditions, brand=campaign.brand), campaign.brand.zone
    milestones = list(campaign.milestones.select_related("reward").order_by("threshold"))
    is_plain = all(each.reward_id or has_usual_texts(each) for each in milestones)
    starts, ends = (each.astimezone(zone) if each else None for each in (campaign.starts_at, campaign.ends_at))
    if starts and starts <= timezone.now():
        starts = None  # it has no participants, so a new launch sets the start again
    at_midnight = starts is None or starts == midnight(starts.date(), zone)
    at_the_end = ends is None or ends.replace(microsecond=0) == last_second(ends.date(), zone)
    if answers is None or len(milestones) > ROWS or not (is_plain and at_midnight and at_the_end):
        return None
    rows: dict[str, Any] = {}
    for number, each in enumerate(milestones, 1):
        rows |= {
            f"at_{number}": each.threshold,
            f"gives_{number}": f"r{each.reward_id}" if each.reward_id else POINTS,
            f"points_{number}": f"{each.reward_points.normalize():f}" if each.reward_points else None,
            f"auto_{number}": "auto" if each.auto_claim else "claim",
        }
    names = {
        f"name_{language}": campaign.translations.get(language, {}).get("campaign_name", "")
        for language in TRANSLATION_LANGUAGES
    }
    return {
        **answers,
        **rows,
        **names,
        "name": campaign.campaign_name,
        "type": campaign.type,
        "step_by": campaign.step_by,
        "target_value": campaign.target_value,
        "is_repeatable": campaign.is_repeatable,
        "starts_on": starts.date() if starts else None,
        "ends_on": ends.date() if ends else None,
        "budget": None if campaign.budget is None else f"{campaign.budget.normalize():f}",
    }
