"""The portal's pages about campaigns, earning rules, own kinds of events, what customers reach, and segments."""

from campaigns.admin import campaigns, earning_rules, event_kinds, progress, reward_claims, segments

__all__ = ["campaigns", "earning_rules", "event_kinds", "progress", "reward_claims", "segments"]
