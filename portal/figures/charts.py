"""Styles of the portal's charts, which unfold draws."""

from typing import Any

from django.utils.translation import get_language

CHART_OPTIONS: dict[str, Any] = {
    "responsive": True,
    "maintainAspectRatio": False,
    "animation": False,
    "interaction": {"mode": "index", "intersect": False},
    "plugins": {
        "legend": {
            "position": "bottom",
            "align": "start",
            "labels": {"boxWidth": 10, "boxHeight": 10, "color": "#9ca3af"},
        },
    },
    "scales": {
        "x": {
            "stacked": False,
            "grid": {"display": False},
            "ticks": {"color": "#9ca3af", "maxRotation": 0, "autoSkipPadding": 16},
        },
        "y": {
            "stacked": False,
            "beginAtZero": True,
            "border": {"display": False},
            "ticks": {"color": "#9ca3af", "precision": 0, "maxTicksLimit": 6},
        },
    },
    "datasets": {"bar": {"maxBarThickness": 28, "categoryPercentage": 0.9, "barPercentage": 0.9}},
}


def chart_options() -> dict[str, Any]:
    """With numbers in the page's language, and the digits of the rest of the portal."""
    return {**CHART_OPTIONS, "locale": f"{get_language()}-u-nu-latn"}
