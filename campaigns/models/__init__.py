"""Campaigns, their milestones, how far customers are, and what else earns points."""

from campaigns.models import campaigns, earning_rules, event_kinds, replays

__all__ = ["campaigns", "earning_rules", "event_kinds", "replays"]
