"""The platform's settings, with the views that benchmarks compare it to."""

from config.ports import CELERY_TASK_ROUTES as ROUTES
from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench.urls"
CELERY_IMPORTS = ["bench.orm"]
CELERY_TASK_ROUTES = {**ROUTES, "bench.orm.*": {"queue": "bench"}}
