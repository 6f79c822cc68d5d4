"""Long work: taken by one worker, told about, cancelled, taken up again, and never left half-offered."""

import io
import threading
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery import current_app
from django.db import connection
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from authcodes.tasks import purge_files
from core.errors import Invalid
from jobs import files as jobs
from jobs import heartbeat, kinds, queue, runner
from jobs.kinds import JobKind
from jobs.models import Job
from jobs.tasks import resume_jobs
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.live_stack import wait_until

LONG_AGO = timedelta(minutes=5)
seen = []


def counts(run):
    for number in range(1, 4):
        run.progress(number, 3)
    run.log("counted to three")
    run.save_file(io.BytesIO(b"one,two,three"), name="count.csv")


def refuses(run):
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
    """Silent for long already, it waits for a statement as long as for ten signs of life."""
    Job.objects.update(alive_at=timezone.now() - LONG_AGO)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.2)")
    seen.append(queue.resume())
    runner.run(run.job.pk)


HANDLERS = [counts, refuses, breaks, is_cancelled_half_way, remembers, says_nothing]


@pytest.fixture(autouse=True)
def handlers(settings, tmp_path, monkeypatch):
    seen.clear()
    settings.MEDIA_ROOT = tmp_path
    for work in HANDLERS:
        kind = JobKind(name=work.__name__, label="A test", run=work, on_cancel="Nothing.")
        monkeypatch.setitem(kinds.declared(), kind.name, kind)


def start(brand, kind):
    return queue.start(brand=brand, kind=kind, title="A test", parameters={}, by=None)


def ran(brand, kind):
    job = start(brand, kind)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


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


def test_a_brand_has_two_jobs_running_and_the_others_wait_their_turn(brand):
    first, second, third, fourth = (start(brand, "remembers") for _ in range(4))
    running = Job.objects.filter(pk__in=[first.pk, second.pk])
    running.update(status="running", attempts=1, alive_at=timezone.now())
    Job.objects.update(created_at=timezone.now() - LONG_AGO)

    runner.run(third.pk)
    assert (seen, queue.resume()) == ([], [])
    running.filter(pk=first.pk).update(status="done")
    runner.run(fourth.pk)
    assert (seen, queue.resume()) == ([], [third.pk])
    runner.run(third.pk)

    assert list(Job.objects.order_by("pk").values_list("status", flat=True)) == ["done", "running", "done", "queued"]


def test_one_brands_jobs_keep_no_other_brand_and_no_recall_waiting(brand):
    for _ in range(2):
        start(brand, "counts")
    Job.objects.update(status="running", attempts=1, alive_at=timezone.now())

    assert ran(factories.brand(), "remembers").status == "done"
    assert ran(brand, "notify-recall").status == "failed"  # for want of a recall


def run_now(*jobs):
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(status="running", attempts=1, alive_at=timezone.now())


def test_two_brands_with_two_jobs_each_leave_a_worker_to_a_third(brand, settings):
    settings.JOB_WORKERS = 4
    other, third = factories.brand(), factories.brand()
    mine, theirs = [[start(each, "remembers") for _ in range(2)] for each in (brand, other)]
    run_now(*mine, theirs[0])

    runner.run(theirs[1].pk)
    assert (seen, Job.objects.get(pk=theirs[1].pk).status) == ([], "queued")
    assert ran(third, "remembers").status == "done"


def test_control_without_shares_two_brands_fill_all_workers(brand, settings):
    settings.FAIR_SHARES = False
    many = [start(brand, "remembers") for _ in range(20)]
    run_now(*many[:4])

    runner.run(many[4].pk)

    assert Job.objects.get(pk=many[4].pk).status == "done"


def test_twenty_jobs_of_one_brand_are_behind_the_first_of_another(brand, settings, monkeypatch):
    settings.JOB_WORKERS = 3
    many = [start(brand, "remembers") for _ in range(20)]
    late = start(factories.brand(), "remembers")
    run_now(many[0])
    called = []
    monkeypatch.setattr(current_app, "send_task", lambda _name, arguments, **_more: called.extend(arguments))

    runner.run(many[1].pk)

    assert called == [late.pk]


def test_a_brand_never_has_all_workers_whatever_is_set(brand, settings):
    settings.JOBS_PER_BRAND, settings.JOB_WORKERS = 9, 2
    first, second = start(brand, "remembers"), start(brand, "remembers")
    run_now(first)

    runner.run(second.pk)

    assert Job.objects.get(pk=second.pk).status == "queued"


def test_what_beat_calls_has_a_queue_of_its_own(settings):
    routed = {
        entry["task"]: current_app.amqp.router.route({}, entry["task"])
        for entry in settings.CELERY_BEAT_SCHEDULE.values()
    }

    queues = {task: route["queue"].name for task, route in routed.items()}
    assert queues.pop("events.tasks.sweep") == "events"
    assert set(queues.values()) == {"regular"}
    assert current_app.amqp.router.route({}, "jobs.tasks.run_job")["queue"].name == "work"


def test_a_job_that_ends_calls_for_the_next_of_its_brand(brand, settings, monkeypatch):
    settings.JOBS_PER_BRAND = 1
    waiting = [start(brand, kind) for kind in ("remembers", "breaks", "remembers", "counts")]
    monkeypatch.setattr(current_app, "send_task", lambda _name, arguments, **_more: runner.run(*arguments))

    runner.run(waiting[0].pk)

    assert list(Job.objects.order_by("finished_at").values_list("pk", flat=True)) == [job.pk for job in waiting]


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


class Interrupted(io.BytesIO):
    """A file during whose upload something happens."""

    def __init__(self, content, what):
        super().__init__(content)
        self.what = what

    def read(self, *size):
        self.what()
        return super().read(*size)


def attempt(brand):
    """The first at a job."""
    job = start(brand, "counts")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    return runner.Run(job)


def files(folder):
    return sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_file_of_an_attempt_that_was_taken_over_is_not_kept(brand, tmp_path):
    run = attempt(brand)

    with pytest.raises(runner.JobSupersededError):
        run.save_file(Interrupted(b"ana@example.com", lambda: Job.objects.update(attempts=2)), name="scans.csv")
    with pytest.raises(runner.JobSupersededError):
        run.save_file(io.BytesIO(b"ana@example.com"), name="scans.csv")

    assert files(tmp_path) == []


def test_a_file_replaces_that_of_an_earlier_attempt(brand, tmp_path, django_capture_on_commit_callbacks):
    attempt(brand).save_file(io.BytesIO(b"of a worker that was killed"), name="scans.csv")
    Job.objects.update(attempts=2)

    with django_capture_on_commit_callbacks(execute=True):
        runner.Run(Job.objects.get()).save_file(io.BytesIO(b"all of it"), name="scans.csv")

    assert files(tmp_path) == [b"all of it"]
    assert Job.objects.get().result.read() == b"all of it"


def test_a_file_whose_worker_is_killed_while_it_uploads_is_forgotten_with_its_job(brand, tmp_path):
    def kill():
        raise SystemExit

    with pytest.raises(SystemExit):
        attempt(brand).save_file(Interrupted(b"ana@example.com", kill), name="scans.csv")
    Job.objects.update(status="failed", expires_at=timezone.now())
    assert len(files(tmp_path)) == 1

    jobs.purge_files()

    assert files(tmp_path) == []


def test_files_are_forgotten_when_they_expire_and_the_job_stays(brand):
    job = ran(brand, "counts")
    Job.objects.update(expires_at=timezone.now())

    assert jobs.purge_files() == 1

    assert not job.result.storage.exists(job.result.name)
    assert Job.objects.get().result == ""


def undeletable(path):
    """What lies at `path` cannot be deleted from now on, nor by root."""
    path.unlink()
    (path / "in the way").mkdir(parents=True)


def test_a_file_that_cannot_be_deleted_holds_up_neither_jobs_nor_other_files(brand, tmp_path, caplog):
    stuck, other = ran(brand, "counts"), ran(brand, "counts")
    undeletable(tmp_path / stuck.result.name)
    lost = start(brand, "remembers")
    Job.objects.filter(pk=lost.pk).update(status="running", attempts=1, alive_at=timezone.now() - LONG_AGO)
    Job.objects.update(expires_at=timezone.now())

    assert (purge_files(), resume_jobs()) == (1, 1)

    assert files(tmp_path) == []
    assert Job.objects.get(pk=stuck.pk).result.name == stuck.result.name
    assert Job.objects.get(pk=other.pk).result.name == ""
    assert stuck.result.name in caplog.text


def test_generation_is_a_job_that_can_be_stopped_and_taken_up(brand, settings):
    settings.GENERATION_CHUNK = 4
    wanted = BatchSettings(range_name="Spring", quantity=10, prefix="SP-", number_width=4, signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=wanted, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)
    stopped_at = AuthCode.objects.count()
    runner.run(batches.start_generation(batch=batch, by=None).pk)

    assert list(Job.objects.order_by("pk").values_list("status", flat=True)) == ["cancelled", "done"]
    assert (stopped_at, AuthCode.objects.count()) == (4, 10)


def test_generation_that_is_cancelled_in_its_last_chunk_is_done(brand):
    wanted = BatchSettings(range_name="Spring", quantity=10, prefix="SP-", number_width=4, signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=wanted, at=timezone.now())
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
