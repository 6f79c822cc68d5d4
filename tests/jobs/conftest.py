"""Job kinds declared for the tests."""

import io
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from core.errors import Invalid
from jobs import kinds, queue, runner
from jobs.kinds import JobKind
from jobs.models import Job

LONG_AGO = timedelta(minutes=5)
seen = []


def counts(run):
    for number in range(1, 4):
        run.progress(number, 3)
    run.log("counted to three")
    run.save_file(io.BytesIO(b"one,two,three"), name="count.csv")


def rejects(run):
    raise Invalid("There is nothing to count.")


def breaks(run):
    raise RuntimeError("out of fingers")


def is_cancelled_half_way(run):
    run.progress(1, 2)
    queue.cancel(job=run.job)
    run.progress(2, 2)
    seen.append("went on")


def remembers(run):
    seen.append(run.attempt)


def says_nothing(run):
    """Silent for a long time already, it waits for a statement that lasts ten heartbeats."""
    Job.objects.update(alive_at=timezone.now() - LONG_AGO)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.2)")
    seen.append(queue.resume())
    runner.run(run.job.pk)


HANDLERS = [counts, rejects, breaks, is_cancelled_half_way, remembers, says_nothing]


@pytest.fixture
def handlers(settings, tmp_path, monkeypatch):
    seen.clear()
    settings.MEDIA_ROOT = tmp_path
    for handler in HANDLERS:
        kind = JobKind(name=handler.__name__, label="A test", run=handler, on_cancel="Nothing.")
        monkeypatch.setitem(kinds.declared(), kind.name, kind)


def start_job(brand, kind):
    return queue.start(brand=brand, kind=kind, title="A test", parameters={}, by=None)


def run_job(brand, kind):
    job = start_job(brand, kind)
    runner.run(job.pk)
    job.refresh_from_db()
    return job
