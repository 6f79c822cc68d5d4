"""The platform's settings, with the views for comparison and without anything that would interrupt a measurement."""

import os
from datetime import timedelta

from config.ports import CELERY_TASK_ROUTES as ROUTES
from config.settings import *  # noqa: F403
from config.settings import RATE_LIMITS, SIMPLE_JWT

ROOT_URLCONF = "bench.server.urls"
CELERY_IMPORTS = ["bench.orm"]
# Off in the control rounds of `neighbours`.
FAIR_SHARES = os.environ.get("BENCH_FAIR_SHARES") != "0"
CELERY_TASK_DEFAULT_QUEUE = "regular" if FAIR_SHARES else "work"
ACCESS_TOKEN_MINUTES = 600
SIMPLE_JWT = SIMPLE_JWT | {"ACCESS_TOKEN_LIFETIME": timedelta(minutes=ACCESS_TOKEN_MINUTES)}
# Never reached, but checked at every request.
RATE_LIMITS = {
    name: "100000000/day" if name.startswith("plain_codes") else "1000000/minute" if name == "scan" else rate
    for name, rate in RATE_LIMITS.items()
}
CELERY_TASK_ROUTES = {**ROUTES, "bench.orm.*": {"queue": "bench"}}
