"""The form of a campaign. Its conditions are rows like those of earning rules."""

from typing import Any, ClassVar

from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.accrual import scopes
from campaigns.admin.rules.rule_form import RowsField
from campaigns.models.campaigns import Campaign, CampaignBudgetUse
from campaigns.progress import lifecycle
from core.numbers import grouped, plural_number
from portal.base.forms import TenantForm

MAX_RUNNING = 50  # campaigns of a type at once


class CampaignForm(TenantForm):
    """Rejects campaigns that could not be counted."""

    conditions = RowsField(
        part="conditions",
        empty={},
        kinds=scopes.KINDS,
        kind_field="type",
        choices_at=reverse_lazy("admin:campaigns_earningrule_choices"),
    )

    class Meta:
        model = Campaign
        fields = "__all__"
        labels: ClassVar = {"target_value": gettext_lazy("Goal")}
        help_texts: ClassVar = {"target_value": gettext_lazy("For example 10 scans, or 100 in your currency.")}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "conditions" in self.fields:  # the rows look up their choices at this brand
            brand = self.instance.brand_id or self.initial.get("brand") or ""
            self.fields["conditions"].widget.attrs["data-brand"] = brand
        if "step_by" in self.fields:
            self.fields["step_by"].required = False

    def clean_step_by(self) -> str:
        """An empty value keeps the stored one, or counts actions in a new campaign."""
        step_by: str = self.cleaned_data["step_by"] or self.instance.step_by
        return step_by

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc] # missing in the stubs
        if self.errors:
            return
        for name, text in problems_of(
            self.instance, step_before=self.initial.get("step_by", self.instance.step_by)
        ).items():
            self.add_error(name if name in self.fields else None, text)


def problems_of(campaign: Campaign, *, step_before: str | None) -> dict[str, str]:
    """Why the campaign cannot be saved, by field. Used by the page, spreadsheet imports and brand files."""
    problems: dict[str, str] = {}
    if text := scopes.problem_of(campaign):
        problems["conditions"] = text
    return problems | _too_many(campaign) | _without_bound(campaign) | _begun(campaign, step_before) | _spent(campaign)


def _too_many(campaign: Campaign) -> dict[str, str]:
    """Limit the campaigns of a type: each action evaluates all running ones. Ended ones do not count."""
    now = timezone.now()
    active = Campaign.objects.filter(brand=campaign.brand_id, type=campaign.type, is_active=True)
    running = active.exclude(pk=campaign.pk).exclude(ends_at__lte=now)
    if not campaign.is_active or lifecycle.is_over(campaign, at=now) or running.count() < MAX_RUNNING:
        return {}
    message = _("At most %(most)d campaigns of a type can be active at once. Switch one off first.")
    return {"is_active": message % {"most": MAX_RUNNING}}


def _without_bound(campaign: Campaign) -> dict[str, str]:
    """Returns keep finished rounds, so without a budget a customer could order and return for ever."""
    if campaign.is_repeatable and campaign.type == Campaign.Type.ORDER and campaign.budget is None:
        return {"budget": _("Set a budget: members keep what they won in a round, even if they return the order.")}
    return {}


def _begun(campaign: Campaign, step_before: str | None) -> dict[str, str]:
    """Once members have begun, the way of counting cannot change."""
    if campaign.pk and step_before != campaign.step_by and campaign.progress_rows.exists():
        return {"step_by": _("Members have already begun. Duplicate the campaign to count in another way.")}
    return {}


def _spent(campaign: Campaign) -> dict[str, str]:
    spent = CampaignBudgetUse.objects.filter(campaign=campaign.pk).first() if campaign.pk else None
    if campaign.budget is None or spent is None or campaign.budget >= spent.points:
        return {}
    message = ngettext(
        "The milestones have already paid %(spent)s point. Enter at least that amount.",
        "The milestones have already paid %(spent)s points. Enter at least that amount.",
        plural_number(spent.points),
    )
    return {"budget": message % {"spent": grouped(spent.points.normalize())}}
