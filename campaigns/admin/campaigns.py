"""Page: a campaign with its milestones."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Exists, OuterRef
from django.forms.widgets import Script
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns import linked_batches
from campaigns.accrual import scopes
from campaigns.admin.campaign_copies import CampaignCopies
from campaigns.admin.campaign_form import CampaignForm
from campaigns.admin.campaign_page.figures import goal_text, spent_of, state_badge
from campaigns.admin.campaign_page.pages import CampaignPages
from campaigns.admin.milestone_form import Milestones
from campaigns.admin.replays.starts import CampaignReplays
from campaigns.admin.resources import CampaignResource, check_stored_milestones
from campaigns.admin.wizard.pages import CampaignWizard
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, UserLoyaltyCampaign
from campaigns.progress import lifecycle
from portal.base.badges import badge
from portal.base.fieldsets import fieldsets_without
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.mixins.translations import TranslationsAdmin, translated_form
from portal.unfold import ChoicesFilter, display


@admin.register(Campaign)
class CampaignAdmin(CampaignWizard, CampaignPages, CampaignCopies, CampaignReplays, ImportingAdmin, TranslationsAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change",
        "manager": "view add change",
        "printer": "view",
        "support": "view",
    }
    sidebar = SidebarEntry(PROGRAMME, 2, "flag")
    resource = CampaignResource
    list_display = ("campaign_name", "type", "goal", "state", "starts_at", "ends_at")
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
    )
    readonly_fields = ("linked_batches", "reads_back", "budget_now")
    form = translated_form(CampaignForm, Campaign)
    inlines = (Milestones,)
    list_select_related = ("brand",)
    actions_detail = ("duplicate", "replay_campaign")

    class Media:
        css: ClassVar = {"all": ("campaigns/rule_builder.css",)}
        js = (Script("campaigns/rule_builder.js", type="module"),)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the budget of a new campaign. Users who may only view get the sentence instead of the condition rows."""
        result = super().get_fieldsets(request, obj)
        if obj is None:
            hidden = {"reads_back", "budget_now"}
        else:
            hidden = set() if self.has_change_permission(request, obj) else {"conditions"}
        return fieldsets_without(result, hidden)

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Campaign:
        """Activating a campaign launches it. Its start is saved and logged as if it had been entered in the form."""
        campaign: Campaign = super().save_form(request, form, change)
        before = campaign.starts_at
        if campaign.is_active and (not change or "is_active" in form.changed_data):
            lifecycle.launch(campaign, at=timezone.now())
        if campaign.starts_at != before:
            form.changed_data.append("starts_at")
        return campaign

    # --- Columns

    def get_queryset(self, request: HttpRequest) -> Any:
        begun = UserLoyaltyCampaign.objects.filter(campaign=OuterRef("pk"))
        return super().get_queryset(request).annotate(has_begun=Exists(begun))

    @display(description=gettext_lazy("goal"), ordering="target_value")
    def goal(self, campaign: Campaign) -> str:
        return goal_text(campaign)

    @display(description=gettext_lazy("the campaign"))
    def reads_back(self, campaign: Campaign) -> str:
        return scopes.sentence(campaign) if campaign.pk else "-"

    @display(description=gettext_lazy("state"))
    def state(self, campaign: Any) -> SafeString:
        """From switch and dates: by the switch alone, an ended campaign would be active."""
        at = timezone.now()
        state = lifecycle.state_of(campaign, at=at)
        was_launched = campaign.has_begun or lifecycle.has_started(campaign, at=at)
        is_new = state is lifecycle.State.OFF and not was_launched
        return state_badge(state, is_new=is_new)

    @display(description=gettext_lazy("paid so far"))
    def budget_now(self, campaign: Campaign) -> SafeString | str:
        """What a campaign with a budget has paid; a badge if nothing is left."""
        spent = CampaignBudgetUse.objects.filter(campaign=campaign).first()
        if campaign.budget is None or spent is None:
            return "-"
        if spent.points >= campaign.budget:
            return badge("danger", _("Out of budget"))
        return spent_of(spent.points, campaign.budget)

    @display(description=gettext_lazy("batches"))
    def linked_batches(self, campaign: Campaign) -> str:
        """What codes that name this campaign earn without it, for staff who are about to switch it off."""
        return (
            " ".join(linked_batches.terms_of(campaign))
            if campaign.pk
            else _("No batches yet. Set the campaign in the batch's form.")
        )

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        super().save_related(request, form, formsets, change)
        check_stored_milestones()
        self._warn_without_goal(request, form.instance)
        ending = {"is_active", "starts_at", "ends_at"} & set(form.changed_data)
        if change and ending and (warning := linked_batches.stop_warning(form.instance, at=timezone.now())):
            self.message_user(request, warning, messages.WARNING)

    def _warn_without_goal(self, request: HttpRequest, campaign: Campaign) -> None:
        """Warn if the goal has no milestone, so that reaching it gives nothing."""
        if not campaign.milestones.filter(threshold=campaign.target_value).exists():
            text = _("The goal has no milestone. Add one at %(goal)d, or reaching the goal earns no reward.")
            self.message_user(request, text % {"goal": campaign.target_value}, messages.WARNING)
