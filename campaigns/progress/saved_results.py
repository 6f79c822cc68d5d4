"""Caches results of campaigns that are slow to count in Redis for a few minutes, so that pages show them at once."""

import json
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from time import monotonic
from typing import Any

from campaigns.models.campaigns import Campaign
from campaigns.progress import results
from campaigns.progress.results import CampaignResults, DayResults, MilestoneResults
from core.json_values import iso
from core.redis import slow_answers

# Results that take less time are counted again for each page.
SLOW_SECONDS = 0.3


def latest(campaign: Campaign, *, at: datetime) -> tuple[CampaignResults, datetime]:
    """The results and the moment of counting: `at`, or a few minutes earlier if counting is slow."""
    key = f"campaign-results:{campaign.pk}:{campaign.target_value}"
    stored = slow_answers.saved(key)
    if stored:
        data = json.loads(stored)
        counted_at = datetime.fromisoformat(data.pop("at"))
        if counted_at <= at + timedelta(seconds=1):
            return _read(data), counted_at
    began = monotonic()
    counted = results.results_of(campaign)
    seconds = monotonic() - began
    if seconds >= SLOW_SECONDS:
        text = json.dumps({**asdict(counted), "days": _days(counted), "at": iso(at.astimezone(UTC))}, default=str)
        slow_answers.save(key, text, seconds=seconds)
    return counted, at


def _days(counted: CampaignResults) -> dict[str, Any]:
    return {day.isoformat(): asdict(each) for day, each in counted.days.items()}


def _read(data: dict[str, Any]) -> CampaignResults:
    numbers: dict[str, Any] = {
        name: None if data[name] is None else Decimal(data[name]) for name in ("points", "points_waiting", "cost")
    }
    milestones = {
        int(key): MilestoneResults(**{**each, "points": Decimal(each["points"])})
        for key, each in data["milestones"].items()
    }
    days = {
        date.fromisoformat(key): DayResults(**{**each, "points": Decimal(each["points"])})
        for key, each in data["days"].items()
    }
    whole = {name: data[name] for name in ("participants", "reached", "rounds", "claimed", "waiting")}
    return CampaignResults(**whole, **numbers, milestones=milestones, days=days)
