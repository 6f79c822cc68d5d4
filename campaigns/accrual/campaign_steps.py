"""Decides in which campaigns an action counts, and how much."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.accrual import scopes
from campaigns.accrual.scopes import Scope
from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.earning.action_context import ActionContext, Item
from campaigns.earning.fields import ORDER
from campaigns.models.campaigns import Campaign
from campaigns.progress import advance
from campaigns.progress.advance import ONE_ACTION, Counted, ProgressStep, RunningCampaign

COUNT, AMOUNT = Campaign.StepBy.COUNT.value, Campaign.StepBy.AMOUNT.value


@dataclass(frozen=True, slots=True)
class CampaignAction:
    """An action as campaigns see it: its type, and a context for each of its reasons."""

    campaign_type: str
    contexts: Sequence[ActionContext] = ()

    def counted_in(self, campaign: RunningCampaign, catalogue: Sequence[Item]) -> Counted | None:
        """None if the conditions do not hold. `catalogue`: an order's items as the brand's products describe them."""
        if campaign.step_by == COUNT and not campaign.conditions:
            return ONE_ACTION
        scope = scopes.cached(campaign.conditions, self.campaign_type)
        context = next((each for each in self.contexts if scope and scope.test(each)), None)
        if scope is None or context is None:
            return None
        return ONE_ACTION if campaign.step_by == COUNT else _counted(campaign, scope, context, catalogue)


def _counted(campaign: RunningCampaign, scope: Scope, context: ActionContext, catalogue: Sequence[Item]) -> Counted:
    if campaign.step_by == AMOUNT:
        return Counted(scope.amount(context))
    known = frozenset(item.product_id for item in catalogue if item.product_id is not None)
    return Counted(products=scopes.catalogued(scope.items(context), known if context.kind == ORDER else None))


def ask_for_contexts(state: AccrualSnapshot) -> bool:
    """Whether any running campaign needs more than the fact that an action happened."""
    return any(each.conditions or each.step_by != COUNT for each in state.campaigns)


def in_scope(action: CampaignAction, state: AccrualSnapshot) -> dict[int, Counted]:
    """What the action counts in each campaign whose conditions hold, by campaign ID."""
    counted = ((each.campaign_id, action.counted_in(each, state.catalogue)) for each in state.campaigns)
    return {campaign_id: each for campaign_id, each in counted if each is not None}


def steps_of(action: CampaignAction, state: AccrualSnapshot) -> tuple[ProgressStep, ...]:
    counted = in_scope(action, state)
    return advance.advance([each for each in state.campaigns if each.campaign_id in counted], counted)
