"""Page: the rewards that customers reached. For reading: accrual and the customer's claim write them."""

from typing import ClassVar

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from campaigns.models.campaigns import RewardClaim
from portal.base.badges import badge
from portal.base.sidebar import MEMBERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import OwnRowsFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"available": "info", "claimed": "success"}


@admin.register(RewardClaim)
class RewardClaimAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(MEMBERS, 6, "redeem")
    export_kind = "export-claims"
    brand_path = "milestone__campaign__brand"
    customer_path = "user"
    list_display = ("user", "reward", "campaign", "state", "created_at", "claimed_at")
    list_filter = (("status", ChoicesFilter), ("milestone__campaign", OwnRowsFilter))
    list_select_related = ("user", "milestone__campaign")
    search_fields = ("user__email__startswith",)
    search_help_text = _("Parts of a customer's name or e-mail address.")
    fields = ("user", "reward", "campaign", "state", ("created_at", "claimed_at"))

    @display(description=_("reward"))
    def reward(self, claim: RewardClaim) -> str:
        return claim.milestone.reward_name

    @display(description=_("campaign"))
    def campaign(self, claim: RewardClaim) -> str:
        return claim.milestone.campaign.campaign_name

    @display(description=_("status"), ordering="status")
    def state(self, claim: RewardClaim) -> SafeString:
        return badge(COLOURS[claim.status], claim.get_status_display())
