"""Page: how far customers are in a campaign. For reading: accrual writes it."""

from typing import ClassVar

from django.contrib import admin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import UserLoyaltyCampaign
from portal.base import customer_panels
from portal.base.customer_panels import Line, Panel
from portal.base.sidebar import MEMBERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists import local_time
from portal.lists.filters import OwnRowsFilter
from portal.unfold import display


@admin.register(UserLoyaltyCampaign)
class CampaignProgressAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(MEMBERS, 5, "trending_up")
    export_kind = "export-progress"
    brand_path = "campaign__brand"
    customer_path = "user"
    list_display = ("user", "campaign", "reached", "milestones", "updated_at")
    list_filter = (("campaign", OwnRowsFilter),)
    list_select_related = ("user", "campaign")
    search_fields = ("user__email__startswith",)
    search_help_text = _("Parts of a customer's name or e-mail address.")
    fields = ("user", "campaign", "reached", "milestones", ("created_at", "updated_at"))

    @display(description=_("progress"), ordering="progress")
    def reached(self, row: UserLoyaltyCampaign) -> str:
        return reached(row)

    @display(description=_("milestones"))
    def milestones(self, row: UserLoyaltyCampaign) -> int:
        return len(row.milestones_achieved)


def reached(row: UserLoyaltyCampaign) -> str:
    """Such as 3 / 5; where a campaign is repeated, with the round."""
    text = f"{row.displayed_progress.normalize():f} / {row.campaign.target_value}"
    if row.round == 1 and not row.campaign.is_repeatable:
        return text
    return gettext("%(progress)s, round %(round)d") % {"progress": text, "round": row.round}


def panel(customer: User, brand: Brand) -> Panel:
    """The campaigns of a brand that a customer got ahead in last."""
    rows = UserLoyaltyCampaign.objects.filter(user=customer, campaign__brand=brand).select_related("campaign")
    return Panel(
        gettext("Campaigns"),
        [
            Line(
                local_time.display_moment(row.updated_at, brand.zone),
                "",
                row.campaign.campaign_name,
                reached(row),
                customer_panels.address_of(row),
            )
            for row in rows.order_by("-updated_at", "-id")[: customer_panels.MOST]
        ],
        gettext("No campaign started yet."),
        customer_panels.list_of(UserLoyaltyCampaign, customer),
    )
