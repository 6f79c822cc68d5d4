"""Page: how far customers are in a campaign. Read-only: accrual writes the rows."""

from dataclasses import dataclass
from typing import ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from brands.identity.roles import VIEW, brand_scope
from brands.models.tenants import Brand
from campaigns.models.campaigns import UserLoyaltyCampaign
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import OwnRowsFilter
from portal.timeline.sources import address_of
from portal.unfold import display

MAX_DISPLAYED = 10


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """How far a customer is in a campaign, as shown on the customer's page; `percent` of the goal."""

    name: str
    text: str
    percent: float
    address: str


@admin.register(UserLoyaltyCampaign)
class CampaignProgressAdmin(ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 6, "trending_up", tab=False)
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
    """Such as 3 / 5; with the round if the campaign is repeatable."""
    text = f"{row.displayed_progress.normalize():f} / {row.campaign.target_value}"
    if row.round == 1 and not row.campaign.is_repeatable:
        return text
    return gettext("%(progress)s, round %(round)d") % {"progress": text, "round": row.round}


def of_customer(request: HttpRequest, customer: int, brand: Brand) -> list[CampaignProgress] | None:
    """The campaigns in which the customer progressed last; None if the user may not see them."""
    if brand.pk not in brand_scope(request.user, VIEW, "campaigns.userloyaltycampaign"):
        return None
    rows = UserLoyaltyCampaign.objects.filter(user=customer, campaign__brand=brand).select_related("campaign")
    return [
        CampaignProgress(
            row.campaign.campaign_name,
            reached(row),
            float(100 * row.displayed_progress / row.campaign.target_value),
            address_of(row),
        )
        for row in rows.order_by("-updated_at", "-id")[:MAX_DISPLAYED]
    ]
