"""Campaigns, their milestones, how far customers are, and what else earns points."""

from campaigns.models.campaigns import Campaign, Milestone, RewardClaim, UserLoyaltyCampaign
from campaigns.models.earning_rules import (
    EarningRule,
    EarningRuleBudget,
    EarningRuleSet,
    EarningRuleUse,
    EarningRuleVersion,
)

__all__ = [
    "Campaign",
    "EarningRule",
    "EarningRuleBudget",
    "EarningRuleSet",
    "EarningRuleUse",
    "EarningRuleVersion",
    "Milestone",
    "RewardClaim",
    "UserLoyaltyCampaign",
]
