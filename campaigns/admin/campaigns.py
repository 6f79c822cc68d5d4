"""Page: a campaign with its milestones."""

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.forms.formsets import DELETION_FIELD_NAME
from django.forms.widgets import Script
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns import linked
from campaigns.accrual import scopes
from campaigns.admin.campaign_copies import CampaignCopies
from campaigns.admin.campaign_form import CampaignForm
from campaigns.admin.replay_starts import CampaignTries
from campaigns.admin.resources import CampaignResource, check_stored_milestones
from campaigns.models.campaigns import Campaign, CampaignBudget, Milestone, RewardClaim
from campaigns.progress import results
from campaigns.progress.results import CampaignResults
from portal.base.badges import badge
from portal.base.fieldsets import without
from portal.base.gone_rows import BoundedTable
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import RowForm
from portal.base.translations import TranslationsAdmin, TranslationsInline, translated_form
from portal.import_export.importable import ImportingAdmin
from portal.lists.number_columns import format_number
from portal.unfold import ChoicesFilter, display

RESULTS = ("participants", "reached", "rewards", "points_paid", "cost")


class MilestoneForms(BoundedTable):
    """Rejects milestones above the campaign's goal, and those that pay more than the brand's ceiling."""

    def clean(self) -> None:
        super().clean()
        self.check_goal()
        self.check_ceiling()

    def check_goal(self) -> None:
        goal = self.instance.target_value
        for form in self.forms:
            threshold = form.cleaned_data.get("threshold") if form.is_valid() else None
            if goal and threshold and threshold > goal and not form.cleaned_data.get(DELETION_FIELD_NAME):
                form.add_error("threshold", above_goal(goal))

    def check_ceiling(self) -> None:
        """What paid more than the ceiling before may stay as it is, or fall."""
        if self.instance.brand_id is None:
            return
        ceiling = Decimal(self.instance.brand.max_points_per_scan)
        for form in self.forms:
            points = form.cleaned_data.get("reward_points") if form.is_valid() else None
            most = max(ceiling, form.initial.get("reward_points") or Decimal(0))
            if points is not None and points > most and not form.cleaned_data.get(DELETION_FIELD_NAME):
                form.add_error("reward_points", above_ceiling(most))


def above_goal(goal: int) -> str:
    text = _("Progress stops at the goal of %(goal)d. Enter %(goal)d or less, or raise the goal.")
    return text % {"goal": goal}


def above_ceiling(most: Decimal) -> str:
    return _("At most %(most)s points; ask the operator to raise the ceiling.") % {"most": f"{most.normalize():,f}"}


class Milestones(TranslationsInline):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "printer": "view",
        "support": "view",
    }
    model = Milestone
    form = translated_form(RowForm, Milestone)
    formset = MilestoneForms
    fields = ("threshold", "reward_name", "reward_points", "auto_claim")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A reward that somebody holds cannot be taken away with its milestone."""
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or not RewardClaim.objects.filter(milestone__campaign=obj).exists()


@admin.register(Campaign)
class CampaignAdmin(CampaignCopies, CampaignTries, ImportingAdmin, TranslationsAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change",
        "manager": "view add change",
        "printer": "view",
        "support": "view",
    }
    sidebar = SidebarEntry(PROGRAMME, 1, "flag")
    resource = CampaignResource
    list_display = ("campaign_name", "type", "target_value", "is_active", "starts_at", "ends_at")
    list_filter = (("type", ChoicesFilter), "is_active")
    search_fields = ("campaign_name",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    "campaign_name",
                    "reads_back",
                    ("type", "step_by"),
                    ("target_value", "is_repeatable"),
                    "starts_at",
                    "ends_at",
                    "is_active",
                    "linked_batches",
                )
            },
        ),
        (gettext_lazy("Conditions of the actions that count"), {"fields": ("conditions",)}),
        (gettext_lazy("Budget"), {"fields": (("budget", "budget_now"),)}),
        (
            gettext_lazy("Results"),
            {"fields": (("participants", "reached"), ("rewards", "points_paid"), "cost")},
        ),
    )
    readonly_fields = (
        "linked_batches",
        "reads_back",
        "budget_now",
        "participants",
        "reached",
        "rewards",
        "points_paid",
        "cost",
    )
    form = translated_form(CampaignForm, Campaign)
    inlines = (Milestones,)
    actions_detail = ("duplicate", "try_campaign")

    class Media:
        css: ClassVar = {"all": ("campaigns/rule_builder.css",)}
        js = (Script("campaigns/rule_builder.js", type="module"),)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """A new campaign has no results; who may only read has the sentence instead of the rows."""
        result = super().get_fieldsets(request, obj)
        if obj is None:
            hidden = {"reads_back", "budget_now", *RESULTS}
        else:
            hidden = set() if self.has_change_permission(request, obj) else {"conditions"}
        return without(result, hidden)

    # --- What it shows

    @display(description=gettext_lazy("the campaign"))
    def reads_back(self, campaign: Campaign) -> str:
        return scopes.sentence(campaign) if campaign.pk else "-"

    @display(description=gettext_lazy("paid so far"))
    def budget_now(self, campaign: Campaign) -> SafeString | str:
        """Of a campaign with a budget; a badge says that nothing is left."""
        spent = CampaignBudget.objects.filter(campaign=campaign).first()
        if campaign.budget is None or spent is None:
            return "-"
        if spent.points >= campaign.budget:
            return badge("danger", _("Out of budget"))
        points = {"spent": format_number(spent.points), "budget": format_number(campaign.budget)}
        return _("%(spent)s of %(budget)s points") % points

    def results(self, campaign: Campaign) -> CampaignResults:
        """Read once for all that the page shows of them."""
        result: CampaignResults | None = getattr(campaign, "page_results", None)
        if result is None:
            result = results.results_of(campaign)
            campaign.page_results = result  # type: ignore[attr-defined] # for this page alone
        return result

    @display(description=gettext_lazy("participants"))
    def participants(self, campaign: Campaign) -> str:
        return f"{self.results(campaign).participants:,}" if campaign.pk else "-"

    @display(description=gettext_lazy("reached the goal"))
    def reached(self, campaign: Campaign) -> str:
        if not campaign.pk:
            return "-"
        figures = self.results(campaign)
        if not campaign.is_repeatable and figures.rounds == figures.reached:
            return f"{figures.reached:,}"
        return _("%(members)s, %(times)s times in all") % {
            "members": f"{figures.reached:,}",
            "times": f"{figures.rounds:,}",
        }

    @display(description=gettext_lazy("rewards"))
    def rewards(self, campaign: Campaign) -> str:
        if not campaign.pk:
            return "-"
        figures = self.results(campaign)
        return _("%(claimed)s claimed, %(waiting)s to be claimed") % {
            "claimed": f"{figures.claimed:,}",
            "waiting": f"{figures.waiting:,}",
        }

    @display(description=gettext_lazy("points of milestones"))
    def points_paid(self, campaign: Campaign) -> str:
        if not campaign.pk:
            return "-"
        figures = self.results(campaign)
        return _("%(points)s given, %(waiting)s to be claimed") % {
            "points": format_number(figures.points),
            "waiting": format_number(figures.points_waiting),
        }

    @display(description=gettext_lazy("cost"))
    def cost(self, campaign: Campaign) -> str:
        """Of the points given, by what a point cost on the day."""
        if not campaign.pk:
            return "-"
        cost = self.results(campaign).cost
        return _("no cost set") if cost is None else f"{cost:,} {campaign.brand.currency}"

    @display(description=gettext_lazy("batches"))
    def linked_batches(self, campaign: Campaign) -> str:
        """What the codes that name this campaign earn without it; whoever switches it off reads it before."""
        return (
            " ".join(linked.terms_of(campaign))
            if campaign.pk
            else _("None yet. You set the campaign in the batch's form.")
        )

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        super().save_related(request, form, formsets, change)
        check_stored_milestones()
        self._warn_without_goal(request, form.instance)
        ending = {"is_active", "starts_at", "ends_at"} & set(form.changed_data)
        if change and ending and (warning := linked.stop_warning(form.instance, at=timezone.now())):
            self.message_user(request, warning, messages.WARNING)

    def _warn_without_goal(self, request: HttpRequest, campaign: Campaign) -> None:
        """Staff who forgot the goal's own milestone learn that reaching the goal gives nothing."""
        if not campaign.milestones.filter(threshold=campaign.target_value).exists():
            text = _("The goal has no milestone. Add one at %(goal)d, or reaching the goal earns no reward.")
            self.message_user(request, text % {"goal": campaign.target_value}, messages.WARNING)
