"""How the charts of the portal look; unfold draws them."""

CHART_OPTIONS = {
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
            "stacked": True,
            "grid": {"display": False},
            "ticks": {"color": "#9ca3af", "maxRotation": 0, "autoSkipPadding": 16},
        },
        "y": {
            "stacked": True,
            "beginAtZero": True,
            "border": {"display": False},
            "ticks": {"color": "#9ca3af", "precision": 0, "maxTicksLimit": 6},
        },
    },
    "datasets": {"bar": {"maxBarThickness": 28, "categoryPercentage": 0.9, "barPercentage": 0.9}},
}
