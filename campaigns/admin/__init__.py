"""The portal's pages about campaigns and what customers reach in them."""

from campaigns.admin import campaigns, progress, rewards

__all__ = ["campaigns", "progress", "rewards"]
