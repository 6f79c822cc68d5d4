"""The chart of the front page: scans by day."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from authcodes.dashboard.figures import Day, Top
from authcodes.dashboard.filters import Filters
from portal.figures.cards import Card, number, share

MAX_BARS = 62
COLOURS = {"accepted": "var(--color-primary-600)", "warnings": "#f59e0b", "errors": "#dc2626"}


def ranked(tops: Sequence[Top], link: Any) -> list[Card]:
    most = tops[0].scans if tops else 0
    return [Card(top.name, number(top.scans), "", share(top.scans, most), link(top)) for top in tops]


def chart_of(days: Sequence[Day], filters: Filters) -> str:
    """What unfold's chart reads: a bar for each day or, where these are many, for so many days that the bars fit."""
    if not days:
        return ""
    first, last = filters.first_day or days[0].day, filters.last_day or days[-1].day
    first, last = max(first, days[0].day - timedelta(days=MAX_BARS)), max(last, days[-1].day)
    step = 1
    while (last - first).days // step >= MAX_BARS:
        step = 7 if step == 1 else step * 2
    bars = [[0, 0, 0] for _bar in range((last - first).days // step + 1)]
    for day in days:
        bar = bars[(day.day - first).days // step]
        for place, count in enumerate((day.accepted, day.warnings, day.errors)):
            bar[place] += count
    begins = [first + timedelta(days=step * place) for place in range(len(bars))]
    labels = [(_("Accepted"), "accepted"), (_("Warnings"), "warnings"), (_("Errors"), "errors")]
    data = {
        "labels": [date_format(day, "j M") for day in begins],
        "datasets": [
            {"label": label, "data": [bar[place] for bar in bars], "backgroundColor": COLOURS[name]}
            for place, (label, name) in enumerate(labels)
        ],
    }
    return json.dumps(data)
