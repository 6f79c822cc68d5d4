"""The portal's pages about campaigns, earning rules, own kinds of events, and what customers reach."""

from campaigns.admin import campaigns, earning_rules, event_kinds, progress, reward_claims

__all__ = ["campaigns", "earning_rules", "event_kinds", "progress", "reward_claims"]
