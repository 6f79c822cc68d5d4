"""The portal's pages about campaigns, earning rules, and what customers reach."""

from campaigns.admin import campaigns, earning_rules, progress, reward_claims

__all__ = ["campaigns", "earning_rules", "progress", "reward_claims"]
