"""The settings of the tests: the product's, whatever the surroundings say, but for what would only cost time."""

import json
import os

from config.settings import *  # noqa: F403
from config.settings import CELERY_BEAT_SCHEDULE, EVENT_SWEEP_SECONDS, FAIR_SHARES

# As over plain HTTP, as test clients call; test_environment.py has the redirect back.
SECURE_SSL_REDIRECT = False
# The product's take their time, on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Of processes that a test starts (tests.support.live_stack): what it changes, and what follows from that.
globals().update(json.loads(os.environ.get("TEST_SETTINGS", "{}")))
CELERY_TASK_DEFAULT_QUEUE = "regular" if FAIR_SHARES else "work"
for name in ("sweep-events", "locate-scans"):
    CELERY_BEAT_SCHEDULE[name] |= {"schedule": EVENT_SWEEP_SECONDS, "options": {"expires": EVENT_SWEEP_SECONDS}}
