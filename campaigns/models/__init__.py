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
from campaigns.models.replays import EarningTerms, Replay

__all__ = [
    "Campaign",
    "CampaignBudget",
    "EarningRule",
    "EarningRuleBudget",
    "EarningRuleSet",
    "EarningRuleUse",
    "EarningRuleVersion",
    "EarningTerms",
    "EventKind",
    "EventKindField",
    "Milestone",
    "Replay",
    "RewardClaim",
    "UserLoyaltyCampaign",
]
