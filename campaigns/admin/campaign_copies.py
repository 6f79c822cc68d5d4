"""Duplicates a campaign with its milestones, switched off and with a unique name."""

from collections.abc import Iterable
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from campaigns.accrual import scopes
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.progress import lifecycle
from portal.base.confirmation import ConfirmedAction
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import action


class CampaignCopies(TenantAdmin):
    """Part of the model admin of campaigns."""

    def has_duplicate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Only users who may add a campaign at this campaign's brand."""
        campaign = self.addressed_row(request, object_id)
        return campaign is not None and self.has_add_permission(request, campaign)

    @action(description=gettext_lazy("Duplicate"), url_path="duplicate", icon="content_copy", permissions=["duplicate"])
    def duplicate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Confirm on a page that names what is created and asks for a reason, then duplicate."""
        campaign = self.get_object(request, object_id)
        requested = ConfirmedAction(
            title=_("Duplicate campaign: %(campaign)s") % {"campaign": campaign},
            paragraphs=[
                scopes.sentence(campaign),
                _("A campaign with the same milestones is made. It is switched off, and nobody takes part in it yet."),
            ],
            button=_("Duplicate campaign"),
        )
        return requested.respond(self, request, campaign, partial(self.duplicated, request, campaign.pk))

    def duplicated(self, request: HttpRequest, campaign_id: int, answers: dict[str, Any]) -> HttpResponse:
        campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign_id)
        milestones = list(campaign.milestones.all())
        campaign.pk, campaign.is_active = None, False
        campaign._state.adding = True
        names = Campaign.objects.filter(brand=campaign.brand).values_list("campaign_name", flat=True)
        campaign.campaign_name = name_of_copy(campaign.campaign_name, taken=names)
        campaign.created_at = now = timezone.now()
        if lifecycle.has_started(campaign, at=now):
            campaign.starts_at = None  # the copy starts when it is launched
        if lifecycle.is_over(campaign, at=now):
            campaign.ends_at = None
        campaign.save()
        most = Decimal(campaign.brand.max_points_per_scan)
        for each in milestones:
            each.pk, each.campaign, each.reward_points = None, campaign, min(each.reward_points, most)
        Milestone.objects.bulk_create(milestones)
        self.record_action(request, [campaign], gettext_noop("Added"), reason=answers["reason"])
        return redirect("admin:campaigns_campaign_change", campaign.pk)


def name_of_copy(name: str, *, taken: Iterable[str]) -> str:
    """The first name for a copy that is not taken."""
    names = (_("%(name)s (copy %(number)d)") % {"name": name[:100], "number": number} for number in count(1))
    known = set(taken)
    return next(each for each in names if each not in known)
