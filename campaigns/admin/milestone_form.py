"""The table of milestones in a campaign's form: what each gives, points or a reward of the catalogue."""

from decimal import Decimal
from typing import Any, ClassVar

from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest
from django.utils.translation import gettext as _

from campaigns.models.campaigns import Milestone, RewardClaim
from core.numbers import grouped
from portal.base.gone_rows import BoundedTable
from portal.base.tenant_admin import RowForm
from portal.mixins.translations import TranslationsInline, translated_form


class MilestoneForm(RowForm):
    """A reward of the catalogue provides its name; any other milestone needs one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "reward_name" in self.fields:
            self.fields["reward_name"].required = False
        if "reward" in self.fields:
            self.fields["reward"].empty_label = _("Points, or something else")  # type: ignore[attr-defined] # a ModelChoiceField

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        reward = cleaned.get("reward")
        if reward is not None:
            cleaned["reward_name"] = reward.name
        elif "reward_name" in self.fields and not cleaned.get("reward_name") and "reward_name" not in self.errors:
            self.add_error("reward_name", _("Name what it gives, or choose a reward of the catalogue."))
        if reward is not None and cleaned.get("reward_points"):
            self.add_error("reward_points", _("Enter 0: it gives the reward of the catalogue, and no points."))
        return cleaned


class MilestoneForms(BoundedTable):
    """Rejects milestones above the campaign's goal, those that pay more than the brand's ceiling, and those that give a
    reward of another brand."""

    def clean(self) -> None:
        super().clean()
        self.check_goal()
        self.check_ceiling()
        self.check_brand()

    def check_goal(self) -> None:
        goal = self.instance.target_value
        for form in self.forms:
            threshold = form.cleaned_data.get("threshold") if form.is_valid() else None
            if goal and threshold and threshold > goal and not form.cleaned_data.get(DELETION_FIELD_NAME):
                form.add_error("threshold", above_goal(goal))

    def check_ceiling(self) -> None:
        """A milestone that already paid more than the ceiling may stay or be lowered."""
        if self.instance.brand_id is None:
            return
        ceiling = Decimal(self.instance.brand.max_points_per_scan)
        for form in self.forms:
            points = form.cleaned_data.get("reward_points") if form.is_valid() else None
            most = max(ceiling, form.initial.get("reward_points") or Decimal(0))
            if points is not None and points > most and not form.cleaned_data.get(DELETION_FIELD_NAME):
                form.add_error("reward_points", above_ceiling(most))

    def check_brand(self) -> None:
        """Staff of several brands can choose from all their rewards, so check the brand here."""
        for form in self.forms:
            reward = form.cleaned_data.get("reward") if form.is_valid() else None
            if reward is not None and self.instance.brand_id not in {None, reward.brand_id}:
                form.add_error("reward", _("Choose one of the same brand."))


def above_goal(goal: int) -> str:
    text = _("Progress stops at the goal of %(goal)d. Enter %(goal)d or less, or raise the goal.")
    return text % {"goal": goal}


def above_ceiling(most: Decimal) -> str:
    return _("At most %(most)s points; ask the operator to raise the ceiling.") % {"most": grouped(most.normalize())}


class Milestones(TranslationsInline):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "printer": "view",
        "support": "view",
    }
    model = Milestone
    form = translated_form(MilestoneForm, Milestone)
    formset = MilestoneForms
    fields = ("threshold", "reward", "reward_name", "reward_points", "auto_claim")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Once a member has a reward of the campaign, none of its milestones can be deleted."""
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or not RewardClaim.objects.filter(milestone__campaign=obj).exists()
