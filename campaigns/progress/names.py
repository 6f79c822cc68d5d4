"""The names of a campaign and its reward in other languages."""

from collections.abc import Mapping
from typing import Any

from campaigns.models.campaigns import Campaign, Milestone
from core.translations import text_of


def in_language(brand_id: int, values: Mapping[str, Any], language: str) -> dict[str, str]:
    """Translations of `reward_name` and `campaign_name` in a milestone's message (settings.TRANSLATED_NAMES)."""
    if "milestone_id" not in values:
        return {}
    milestones = Milestone.objects.select_related("campaign").filter(campaign__brand_id=brand_id)
    milestone = milestones.filter(pk=values["milestone_id"]).first()
    if milestone is None:
        return {}
    rows: dict[str, Milestone | Campaign] = {"reward_name": milestone, "campaign_name": milestone.campaign}
    return {
        name: text_of(row.translations, name, values[name], language)
        for name, row in rows.items()
        if values.get(name) == getattr(row, name)  # skip names that have changed since
    }
