"""Jobs: run by one worker, reported on, cancelled and resumed."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from jobs import endings, heartbeat, queue, runner
from jobs.models import Job
from tests.jobs.conftest import LONG_AGO, run_job, seen, start_job
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.live_stack import wait_until

pytestmark = pytest.mark.usefixtures("handlers")


def test_log_has_times_in_the_brands_time_zone(db):
    brand = factories.brand(time_zone="Asia/Kolkata")

    with time_machine.travel(datetime(2026, 3, 1, 18, 30, tzinfo=UTC), tick=False):
        job = run_job(brand, "rejects")

    assert job.log == "00:00:00 There is nothing to count.\n"


def test_job_reports_its_progress_and_saves_its_file(brand):
    job = run_job(brand, "counts")

    assert (job.status, job.done, job.total, job.percent) == ("done", 3, 3, 100)
    assert "counted to three" in job.log
    assert (job.result.read(), job.result_name) == (b"one,two,three", "count.csv")
    assert job.expires_at > timezone.now() + timedelta(days=6)


def test_domain_error_fails_the_job_with_its_message(brand):
    job = run_job(brand, "rejects")

    assert job.status == "failed"
    assert job.log.endswith("There is nothing to count.\n")


def test_unexpected_error_fails_the_job_and_is_logged(brand):
    job = run_job(brand, "breaks")

    assert (job.status, "RuntimeError: out of fingers" in job.log) == ("failed", True)


def test_running_job_stops_when_it_is_cancelled(brand):
    job = run_job(brand, "is_cancelled_half_way")

    assert (job.status, seen) == ("cancelled", [])


def test_queued_job_is_cancelled_at_once_and_never_runs(brand):
    job = start_job(brand, "remembers")

    assert queue.cancel(job=job) is True
    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, seen) == ("cancelled", [])


def test_finished_job_cannot_be_cancelled(brand):
    assert queue.cancel(job=run_job(brand, "counts")) is False


@pytest.mark.django_db(transaction=True)
def test_job_requested_concurrently_runs_once():
    brand = factories.brand()
    job = start_job(brand, "remembers")

    run_concurrently(runner.run, [job.pk] * 20)

    assert seen == [1]


@pytest.mark.django_db(transaction=True)
def test_job_whose_handler_waits_long_is_not_resumed_as_abandoned(monkeypatch):
    monkeypatch.setattr(runner, "BEAT", timedelta(milliseconds=20))

    job = run_job(factories.brand(), "says_nothing")

    assert (job.status, job.attempts, seen) == ("done", 1, [[]])


@pytest.mark.django_db(transaction=True)
def test_heartbeat_ends_with_its_attempt():
    job = start_job(factories.brand(), "remembers")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    threads, beats = threading.active_count(), []

    def beat_and_supersede():
        beats.append(run.beat())
        Job.objects.update(attempts=2)
        return beats[-1]

    run = runner.Run(job)
    with heartbeat.beating(beat_and_supersede, every=timedelta(milliseconds=1)):
        wait_until(lambda: threading.active_count() == threads)

    assert beats == [True, False]


def test_job_of_a_silent_worker_is_resumed(brand):
    job = start_job(brand, "remembers")
    Job.objects.update(status="running", attempts=1, alive_at=timezone.now() - LONG_AGO)

    assert queue.resume() == [job.pk]
    runner.run(job.pk)

    assert seen == [2]


def test_job_is_given_up_after_five_silent_attempts(brand):
    start_job(brand, "remembers")
    Job.objects.update(status="running", attempts=5, alive_at=timezone.now() - LONG_AGO)

    assert queue.resume() == []
    assert Job.objects.get().status == "failed"


def test_job_whose_end_fails_delays_no_other_brands_jobs(brand, monkeypatch):
    start_job(brand, "remembers")
    Job.objects.update(status="running", attempts=5, alive_at=timezone.now() - LONG_AGO)
    waiting = start_job(factories.brand(), "remembers")
    Job.objects.filter(pk=waiting.pk).update(created_at=timezone.now() - LONG_AGO)

    def fail(_job):
        raise RuntimeError("broken")

    monkeypatch.setattr(endings, "follow_up", fail)

    assert queue.resume() == [waiting.pk]
    assert Job.objects.unfinished().count() == 2


def test_superseded_attempt_changes_nothing(brand):
    job = start_job(brand, "remembers")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    slow = runner.Run(job)
    Job.objects.update(attempts=2)

    with pytest.raises(runner.JobSupersededError):
        slow.progress(1, 1)
    slow.log("still here")

    job.refresh_from_db()
    assert (job.done, job.log) == (0, "")


def test_generation_can_be_cancelled_and_continued(brand, settings):
    settings.GENERATION_CHUNK = 4
    batch_settings = BatchSettings(range_name="Spring", quantity=10, prefix="SP-", number_width=4, signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)
    stopped_at = AuthCode.objects.count()
    runner.run(batches.start_generation(batch=batch, by=None).pk)

    assert list(Job.objects.order_by("pk").values_list("status", flat=True)) == ["cancelled", "done"]
    assert (stopped_at, AuthCode.objects.count()) == (4, 10)


def test_generation_cancelled_in_its_last_chunk_is_done(brand):
    batch_settings = BatchSettings(range_name="Spring", quantity=10, prefix="SP-", number_width=4, signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.done, AuthCode.objects.count()) == ("done", 10, 10)


class TestHandlerThatNeverReturns:
    @pytest.fixture
    def run(self, brand):
        job = queue.start(brand=brand, kind="generate", title="x", parameters={}, by=None)
        Job.objects.filter(pk=job.pk).update(status=Job.Status.RUNNING, attempts=1)
        return runner.Run(Job.objects.get(pk=job.pk))

    def test_has_no_heartbeat_after_an_hour_of_silence(self, run, monkeypatch):
        assert run.beat()
        now = runner.CLOCK()
        monkeypatch.setattr(runner, "CLOCK", lambda: now + runner.MAX_STEP.total_seconds() + 1)
        assert not run.beat()

    def test_log_message_of_its_handler_restarts_the_hour(self, run, monkeypatch):
        now = runner.CLOCK()
        monkeypatch.setattr(runner, "CLOCK", lambda: now + runner.MAX_STEP.total_seconds() + 1)
        run.log("still here")
        assert run.beat()
