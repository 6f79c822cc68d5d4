"""What the Undo button does after a campaign was paused or resumed."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.identity.roles import CHANGE
from brands.models.undo_offers import UndoOffer
from campaigns.admin.campaign_form import problems_of
from campaigns.models.campaigns import Campaign
from campaigns.progress import lifecycle
from core.errors import Invalid
from portal.undo import offers
from portal.undo.offers import UndoKind

OPPOSITES = {"pause": "resume", "resume": "pause"}


def turn_back(request: HttpRequest, offer: UndoOffer) -> None:
    name = OPPOSITES[offer.arguments["act"]]
    campaign = lifecycle.locked(offer.arguments["campaign"])
    page: Any = admin.site.get_model_admin(Campaign)
    page.remember(request, [campaign])
    before = offer.arguments["starts_at"]
    starts_at = campaign.starts_at if name == "resume" else before and datetime.fromisoformat(before)
    is_as_left = campaign.brand_id == offer.brand_id and not offers.changed_since(offer, [campaign.pk])
    if not (is_as_left and lifecycle.act(campaign, name, at=timezone.now())):
        raise offers.changed_since_error()
    campaign.starts_at = starts_at  # a launch sets it
    campaign.save(update_fields=["starts_at"])
    if problems := problems_of(campaign, step_before=campaign.step_by) if name == "resume" else {}:
        raise Invalid(" ".join(problems.values()))
    page.record_action(request, [campaign], gettext_noop("Undone"))


CAMPAIGN = UndoKind("campaigns.campaign", CHANGE, turn_back)
