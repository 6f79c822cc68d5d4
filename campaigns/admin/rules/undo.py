"""What the Undo button does after an earning rule was paused or activated."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from brands.identity.roles import CHANGE
from brands.models.undo_offers import UndoOffer
from campaigns.admin.rules import rule_states
from campaigns.models.earning_rules import EarningRule
from portal.undo import offers
from portal.undo.offers import UndoKind


def turn_back(request: HttpRequest, offer: UndoOffer) -> None:
    rule = EarningRule.objects.select_for_update(no_key=True).get(pk=offer.arguments["rule"], brand=offer.brand_id)
    if offers.changed_since(offer, [rule.pk]):
        raise offers.changed_since_error()
    page: Any = admin.site.get_model_admin(EarningRule)
    name = rule_states.UNDONE_BY[offer.arguments["act"]]
    page.move(request, rule.pk, name, reason=offers.UNDONE_REASON)


RULE = UndoKind("campaigns.earningrule", CHANGE, turn_back)
