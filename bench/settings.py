"""The platform's settings, with the views that benchmarks compare it to."""

from config.settings import *  # noqa: F403
from config.settings import CELERY_TASK_ROUTES as ROUTES

ROOT_URLCONF = "bench.urls"
CELERY_IMPORTS = ["bench.orm"]
CELERY_TASK_ROUTES = {**ROUTES, "bench.orm.*": {"queue": "bench"}}
