"""What a brand gives for orders, profile changes and logins."""

from dataclasses import dataclass
from decimal import Decimal

from campaigns.earning import points
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from events.messages import LeasedEvent
from loyalty.errors import NotEligible
from loyalty.models.levels import RewardType


@dataclass(frozen=True, slots=True)
class Rate:
    """What a brand gives for a kind of action: points, or percent of an amount."""

    reward_type: str
    reward_value: Decimal

    def on(self, amount: Decimal) -> Decimal:
        if self.reward_type == RewardType.PERCENTAGE:
            return points.percentage(of=amount, percent=self.reward_value)
        return self.reward_value


def rate_for(event: LeasedEvent, campaign_type: Campaign.Type) -> Rate:
    """The brand's rule for this kind. Without one the action may still advance a campaign, for no points."""
    rule = EarningRule.objects.filter(brand_id=event.brand_id, kind=event.kind, is_active=True).first()
    if rule:
        return Rate(rule.reward_type, rule.reward_value)
    if Campaign.objects.running(event.time).filter(brand_id=event.brand_id, type=campaign_type).exists():
        return Rate(RewardType.POINTS, Decimal(0))
    raise NotEligible
