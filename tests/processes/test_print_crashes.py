"""A worker is killed with -9 during print runs: no file is offered, and another worker makes the complete files."""

import hashlib
import io
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from pypdf import PdfReader

from jobs import queue
from jobs.models import Job
from portal.base.job_panel import is_on_offer
from tests.support import factories
from tests.support.live_stack import Stack, wait_until
from tests.support.print_jobs import content, decode_pages, manifest, start

CODES = 6000


@pytest.fixture
def workers(transactional_db, tmp_path):
    running = Stack(log=tmp_path / "log", redis_url=settings.REDIS_URL)
    yield running
    running.stop()


def test_print_runs_of_a_killed_worker_are_completed_by_another(workers, tmp_path):
    brand = factories.brand(hostname="tea.example.com")
    batch = factories.batch(brand, prefix="AB-", quantity=CODES)
    sheets, images = start(batch, output="labels"), start(batch, output="png")
    print_jobs = Job.objects.filter(pk__in=[sheets.job_id, images.job_id])

    worker = workers.start_worker()
    wait_until(lambda: print_jobs.filter(status="running", done__gt=0, done__lt=CODES).count() == 2)
    workers.kill(worker)

    assert [(job.status, job.attempts, is_on_offer(job)) for job in print_jobs] == [("running", 1, False)] * 2
    print_jobs.update(alive_at=timezone.now() - timedelta(minutes=2))  # as if both had been silent for so long
    queue.resume()
    workers.start_worker()
    wait_until(lambda: print_jobs.filter(status="done").count() == 2, seconds=60)
    for run in (sheets, images):
        run.refresh_from_db()
        run.job.refresh_from_db()
        assert (run.job.attempts, run.codes, run.read_back) == (2, CODES, CODES)
        assert run.sha256 == hashlib.sha256(content(run.job)).hexdigest()
    codes = [f"AB-{number:04d}" for number in range(1, CODES + 1)]
    assert [row["code"] for row in manifest(content(images.job))] == codes
    assert len(PdfReader(io.BytesIO(content(sheets.job))).pages) == sheets.pages == CODES // 30
    [first] = decode_pages(content(sheets.job), tmp_path, last=1)
    assert first == [f"http://tea.example.com/s/{code}" for code in codes[:30]]
