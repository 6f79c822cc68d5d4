"""Batches that name a campaign: how many of their codes earn nothing while it is not running, as text for staff."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.models.campaigns import Campaign
from core.numbers import grouped

EARNS_NOTHING = Q(after_campaign="nothing")


def _batches(campaign: Campaign) -> Any:
    return campaign.batches.all()  # batches belong to a higher app


def _counted(rows: Any) -> dict[str, str | int]:
    totals: dict[str, int] = rows.order_by().aggregate(batches=Count("pk"), codes=Sum("quantity", default=0))
    return {"batches": totals["batches"], "codes": grouped(totals["codes"])}


def terms_of(campaign: Campaign) -> list[str]:
    """How many batches and codes name the campaign, and how many of them earn nothing without it."""
    every, silent = _counted(_batches(campaign)), _counted(_batches(campaign).filter(EARNS_NOTHING))
    if not every["batches"]:
        return [_("No batch names this campaign.")]
    named = ngettext(
        "%(batches)d batch with %(codes)s codes names this campaign.",
        "%(batches)d batches with %(codes)s codes name this campaign.",
        int(every["batches"]),
    )
    if not silent["batches"]:
        return [named % every, _("While it is not running, their scans earn their usual points.")]
    stops = ngettext(
        "While it is not running, scans of %(batches)d batch with %(codes)s codes earn nothing.",
        "While it is not running, scans of %(batches)d batches with %(codes)s codes earn nothing.",
        int(silent["batches"]),
    )
    return [named % every, stops % silent]


def stop_warning(campaign: Campaign, *, at: datetime) -> str:
    """A warning that scans earn nothing, or will after the campaign's end; empty if no batch depends on it."""
    silent = _counted(_batches(campaign).filter(EARNS_NOTHING))
    runs = Campaign.objects.running(at).filter(pk=campaign.pk).exists()
    if not silent["batches"] or (runs and campaign.ends_at is None):
        return ""
    if runs:
        message = ngettext(
            "When the campaign ends, scans of %(batches)d batch with %(codes)s codes earn nothing.",
            "When the campaign ends, scans of %(batches)d batches with %(codes)s codes earn nothing.",
            int(silent["batches"]),
        )
    else:
        message = ngettext(
            "The campaign is not running: scans of %(batches)d batch with %(codes)s codes earn nothing now.",
            "The campaign is not running: scans of %(batches)d batches with %(codes)s codes earn nothing now.",
            int(silent["batches"]),
        )
    return message % silent
