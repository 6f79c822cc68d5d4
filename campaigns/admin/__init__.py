"""The portal's pages about campaigns, earning rules, replays, own kinds of events, milestone rewards, segments and
broadcasts."""

from campaigns.admin import campaigns, event_kinds, progress, reward_claims, segments
from campaigns.admin.broadcasts import pages as broadcasts
from campaigns.admin.replays import replays
from campaigns.admin.rules import earning_rules

__all__ = [
    "broadcasts",
    "campaigns",
    "earning_rules",
    "event_kinds",
    "progress",
    "replays",
    "reward_claims",
    "segments",
]
