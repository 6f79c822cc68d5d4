"""Campaigns, their milestones, customers' progress, earning rules, own kinds of events and replays."""

from campaigns.models import campaigns, earning_rules, event_kinds, replays
