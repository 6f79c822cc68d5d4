"""The table of what lower apps call in higher ones: each of its paths can be imported."""

import pytest
from django.conf import settings
from django.utils.module_loading import import_string

from config import ports
from jobs.kinds import JobKind

PATHS = [
    *ports.EVENT_HANDLERS.values(),
    *ports.EVENT_BATCH_HANDLERS.values(),
    *ports.EVENT_CONTEXTS.values(),
    *ports.REPLAY_CONTEXTS.values(),
    *ports.PERSONAL_DATA.values(),
    *ports.CUSTOMER_TIMELINE,
    ports.CUSTOMER_CAMPAIGNS,
    ports.MEMBERS_SEEN,
    *ports.ACCOUNT_MERGES.values(),
    *ports.CELERY_TASK_ROUTES,
    *(entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()),
]


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_every_path_can_be_imported(path):
    assert import_string(path) is not None


def test_every_kind_of_event_with_a_lane_or_batches_has_a_handler():
    assert ports.EVENT_LANES.keys() <= ports.EVENT_HANDLERS.keys()
    assert ports.EVENT_BATCH_HANDLERS.keys() <= ports.EVENT_HANDLERS.keys()


def test_kinds_of_jobs_have_unique_names():
    kinds = [import_string(path) for path in ports.JOB_KINDS]

    assert all(isinstance(kind, JobKind) for kind in kinds)
    assert len({kind.name for kind in kinds}) == len(kinds)
