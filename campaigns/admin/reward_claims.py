"""Page: the rewards that customers reached. Read-only: accrual and the customers' claims write the rows."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.contrib import admin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.models.campaigns import RewardClaim
from core.db import statements
from portal.base.badges import badge, badge_column
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists import local_time
from portal.lists.field_column import attribute_column
from portal.lists.filters import OwnRowsFilter
from portal.timeline.sources import Subject, TimelineItem, TimelineSource, address_of
from portal.unfold import ChoicesFilter

COLOURS = {"available": "info", "claimed": "success"}


@admin.register(RewardClaim)
class RewardClaimAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 5, "redeem", tab=False)
    export_kind = "export-claims"
    brand_path = "milestone__campaign__brand"
    customer_path = "user"
    list_display = ("user", "reward", "campaign", "state", "created_at", "claimed_at")
    list_filter = (("status", ChoicesFilter), ("milestone__campaign", OwnRowsFilter))
    list_select_related = ("user", "milestone__campaign")
    search_fields = ("user__email__startswith",)
    search_help_text = _("Parts of a customer's name or e-mail address.")
    fields = ("user", "reward", "campaign", "state", ("created_at", "claimed_at"))

    reward = attribute_column("milestone.reward_name", description=_("reward"))
    campaign = attribute_column("milestone.campaign.campaign_name", description=_("campaign"))
    state = badge_column("status", COLOURS, description=_("status"), ordering="status")


def wins(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    """Timeline lines for the rewards that a customer reached."""
    rows = RewardClaim.objects.filter(pk__in=ids).select_related("milestone__campaign")
    return {
        str(row.pk): TimelineItem(
            when=local_time.display_moment(row.created_at, subject.brand.zone),
            icon="emoji_events",
            title=gettext("Won: %(reward)s") % {"reward": row.milestone.reward_name},
            address=address_of(row),
            state=badge(COLOURS[row.status], row.get_status_display()),
            details=[row.milestone.campaign.campaign_name],
        )
        for row in rows
    }


WINS = TimelineSource(
    name="wins",
    title=_("Wins"),
    label="campaigns.rewardclaim",
    branch=statements.part("campaigns/admin/sql/wins_of_customer.sql"),
    describe=wins,
)
