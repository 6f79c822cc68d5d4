"""Long work: taken by one worker, told about, cancelled and taken up again."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from jobs import heartbeat, queue, runner
from jobs.models import Job
from tests.jobs.conftest import LONG_AGO, ran, seen, start
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.live_stack import wait_until

pytestmark = pytest.mark.usefixtures("handlers")


def test_the_log_tells_the_time_of_the_brand(db):
    brand = factories.brand(time_zone="Asia/Kolkata")

    with time_machine.travel(datetime(2026, 3, 1, 18, 30, tzinfo=UTC), tick=False):
        job = ran(brand, "refuses")

    assert job.log == "00:00:00 There is nothing to count.\n"


def test_a_job_runs_tells_its_progress_and_offers_its_file(brand):
    job = ran(brand, "counts")

    assert (job.status, job.done, job.total, job.percent) == ("done", 3, 3, 100)
    assert "counted to three" in job.log
    assert (job.result.read(), job.result_name) == (b"one,two,three", "count.csv")
    assert job.expires_at > timezone.now() + timedelta(days=6)


def test_a_refusal_fails_the_job_with_its_own_words(brand):
    job = ran(brand, "refuses")

    assert job.status == "failed"
    assert job.log.endswith("There is nothing to count.\n")


def test_a_bug_fails_the_job_and_is_named(brand):
    job = ran(brand, "breaks")

    assert (job.status, "RuntimeError: out of fingers" in job.log) == ("failed", True)


def test_a_running_job_stops_when_it_is_cancelled(brand):
    job = ran(brand, "is_cancelled_half_way")

    assert (job.status, seen) == ("cancelled", [])


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(brand):
    job = start(brand, "remembers")

    assert queue.cancel(job=job) is True
    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, seen) == ("cancelled", [])


def test_a_job_that_ended_cannot_be_cancelled(brand):
    assert queue.cancel(job=ran(brand, "counts")) is False


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_called_for_many_times_runs_once():
    brand = factories.brand()
    job = start(brand, "remembers")

    at_once(runner.run, [job.pk] * 20)

    assert seen == [1]


@pytest.mark.django_db(transaction=True)
def test_a_job_whose_handler_waits_for_long_is_not_taken_for_abandoned(monkeypatch):
    monkeypatch.setattr(runner, "BEAT", timedelta(milliseconds=20))

    job = ran(factories.brand(), "says_nothing")

    assert (job.status, job.attempts, seen) == ("done", 1, [[]])


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_ends_with_its_job_and_with_its_attempt():
    job = start(factories.brand(), "remembers")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    threads, signs = threading.active_count(), []

    def sign():
        signs.append(run.beat())
        Job.objects.update(attempts=2)
        return signs[-1]

    run = runner.Run(job)
    with heartbeat.beating(sign, every=timedelta(milliseconds=1)):
        wait_until(lambda: threading.active_count() == threads)

    assert signs == [True, False]


def test_a_job_whose_worker_went_silent_is_taken_up_again(brand):
    job = start(brand, "remembers")
    Job.objects.update(status="running", attempts=1, alive_at=timezone.now() - LONG_AGO)

    assert queue.resume() == [job.pk]
    runner.run(job.pk)

    assert seen == [2]


def test_a_job_that_ends_its_workers_is_given_up(brand):
    start(brand, "remembers")
    Job.objects.update(status="running", attempts=5, alive_at=timezone.now() - LONG_AGO)

    assert queue.resume() == []
    assert Job.objects.get().status == "failed"


def test_an_attempt_that_was_taken_over_changes_nothing(brand):
    job = start(brand, "remembers")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    slow = runner.Run(job)
    Job.objects.update(attempts=2)

    with pytest.raises(runner.JobSupersededError):
        slow.progress(1, 1)
    slow.log("still here")

    job.refresh_from_db()
    assert (job.done, job.log) == (0, "")


def test_generation_is_a_job_that_can_be_stopped_and_taken_up(brand, settings):
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


def test_generation_that_is_cancelled_in_its_last_chunk_is_done(brand):
    batch_settings = BatchSettings(range_name="Spring", quantity=10, prefix="SP-", number_width=4, signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.done, AuthCode.objects.count()) == ("done", 10, 10)


class TestAHandlerThatNeverReturns:
    @pytest.fixture
    def run(self, brand):
        job = queue.start(brand=brand, kind="generate", title="x", parameters={}, by=None)
        Job.objects.filter(pk=job.pk).update(status=Job.Status.RUNNING, attempts=1)
        return runner.Run(Job.objects.get(pk=job.pk))

    def test_gives_no_sign_of_life_after_an_hour_of_silence(self, run, monkeypatch):
        assert run.beat()
        now = runner.CLOCK()
        monkeypatch.setattr(runner, "CLOCK", lambda: now + runner.MAX_STEP.total_seconds() + 1)
        assert not run.beat()

    def test_a_word_of_its_handler_counts(self, run, monkeypatch):
        now = runner.CLOCK()
        monkeypatch.setattr(runner, "CLOCK", lambda: now + runner.MAX_STEP.total_seconds() + 1)
        run.log("still here")
        assert run.beat()
