"""Campaigns, their milestones, and how far customers are."""

from campaigns.models.campaigns import Campaign, Milestone, RewardClaim, UserLoyaltyCampaign

__all__ = ["Campaign", "Milestone", "RewardClaim", "UserLoyaltyCampaign"]
