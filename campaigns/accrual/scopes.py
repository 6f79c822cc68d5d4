"""Decides which actions a campaign counts, and how much of each. Its conditions are those of earning rules."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.earning import conditions, segment_references, sentences
from campaigns.earning.action_context import ActionContext, Item
from campaigns.earning.comparisons import Test
from campaigns.earning.conditions import ConditionsError, Group
from campaigns.earning.effects import amount_of, matching
from campaigns.earning.fields import FIELDS, Needs
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from core.numbers import grouped, plural_number

ZERO, CENT = Decimal(0), Decimal("0.01")
KINDS: dict[str, str] = {
    Campaign.Type.SCAN.value: EarningRule.Kind.SCAN.value,
    Campaign.Type.ORDER.value: EarningRule.Kind.ORDER.value,
    Campaign.Type.PROFILE.value: EarningRule.Kind.PROFILE.value,
    Campaign.Type.LOGIN.value: EarningRule.Kind.LOGIN.value,
}
COUNTED: dict[str, Any] = {
    Campaign.StepBy.COUNT: gettext_lazy("Counts actions (%(type)s)"),
    Campaign.StepBy.AMOUNT: gettext_lazy("Counts money spent (%(type)s)"),
    Campaign.StepBy.PRODUCTS: gettext_lazy("Counts different products (%(type)s)"),
}
MAX_SCOPES = 1_000  # cached in a process
MAX_BYTES = 8_000  # of a campaign's conditions: each action reads those of all running campaigns
# Fields of single items. With a condition on any of them, only the matching items' amount and products count.
OF_ITEMS = {name for name, field in FIELDS.items() if Needs.CATALOGUE in field.needs} | {"item_quantity", "item_price"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which actions count. `is_about_items`: where money or products are counted, only matching items count."""

    group: Group
    test: Test
    is_about_items: bool

    def items(self, context: ActionContext) -> Sequence[Item]:
        return matching(self.test, context) if self.is_about_items else context.items

    def amount(self, context: ActionContext) -> Decimal:
        """What was paid for the matching items of an order, or the product's price for a scan."""
        counted = amount_of(context, list(self.items(context)), is_whole=not self.is_about_items)
        return max(ZERO, counted).quantize(CENT)


def read(data: Any, *, campaign_type: str) -> Scope:
    """Raises ConditionsError."""
    group = conditions.read(data, kind=KINDS.get(campaign_type, campaign_type))
    return Scope(group, group.test(), any(row.field.name in OF_ITEMS for row in group.rows()))


EVERYTHING = read({}, campaign_type=Campaign.Type.SCAN)


@lru_cache(maxsize=MAX_SCOPES)
def cached(text: str, campaign_type: str) -> Scope | None:
    """The scope of stored conditions; None if they can no longer be read, in which case nothing counts."""
    if not text:
        return EVERYTHING
    try:
        return read(json.loads(text), campaign_type=campaign_type)
    except ConditionsError:
        return None


def sentence(campaign: Campaign) -> str:
    """What the campaign counts, as a sentence for marketers; if the conditions can no longer be read, the reason."""
    try:
        scope = read(campaign.conditions, campaign_type=campaign.type)
    except ConditionsError as error:
        return str(error)
    parts = [COUNTED[campaign.step_by] % {"type": campaign.get_type_display()}]
    if scope.group.parts:
        only = sentences.group_text(scope.group, campaign.brand)
        parts.append(_("only where %(conditions)s") % {"conditions": only})
    parts.append(_("up to %(goal)s") % {"goal": grouped(campaign.target_value)})
    if campaign.is_repeatable:
        parts.append(_("again and again"))
    if campaign.budget is not None:
        message = ngettext(
            "at most %(points)s point for all members",
            "at most %(points)s points for all members",
            plural_number(campaign.budget),
        )
        parts.append(message % {"points": sentences.display(campaign.budget)})
    return ", ".join(parts) + "."


def problem_of(campaign: Campaign) -> str:
    """Why the campaign's conditions cannot be saved; empty if they can."""
    try:
        read(campaign.conditions, campaign_type=campaign.type)
    except ConditionsError as error:
        return str(error)
    if len(json.dumps(campaign.conditions)) > MAX_BYTES:
        return _("These conditions are too long. Use fewer of them, or fewer values.")
    segments = segment_references.ids_in(campaign.conditions)
    if campaign.brand_id and segment_references.unknown(campaign.brand_id, segments):
        return _("One of the segments is gone. Remove it from the conditions.")
    return ""


def catalogued(items: Iterable[Item], known: frozenset[int] | None) -> tuple[int, ...]:
    """The distinct products among the items. `known`: the brand's products; None if all items are the brand's."""
    ids = {item.product_id for item in items if item.product_id is not None}
    return tuple(sorted(ids if known is None else ids & known))
