"""The portal's pages about campaigns and what customers reach in them."""

from campaigns.admin import campaigns, progress, reward_claims

__all__ = ["campaigns", "progress", "reward_claims"]
