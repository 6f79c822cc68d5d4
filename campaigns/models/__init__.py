"""Campaigns, their milestones, how far customers are, and what else earns points."""

from campaigns.models.campaigns import Campaign, CampaignBudget, Milestone, RewardClaim, UserLoyaltyCampaign
from campaigns.models.earning_rules import (
    EarningRule,
    EarningRuleBudget,
    EarningRuleSet,
    EarningRuleUse,
    EarningRuleVersion,
)
from campaigns.models.event_kinds import EventKind, EventKindField

__all__ = [
    "Campaign",
    "CampaignBudget",
    "EarningRule",
    "EarningRuleBudget",
    "EarningRuleSet",
    "EarningRuleUse",
    "EarningRuleVersion",
    "EventKind",
    "EventKindField",
    "Milestone",
    "RewardClaim",
    "UserLoyaltyCampaign",
]
