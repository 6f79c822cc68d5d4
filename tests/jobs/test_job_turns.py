"""Jobs take turns: no brand has all workers, and none keeps another waiting."""

import pytest
from celery import current_app
from django.utils import timezone

from jobs import queue, runner
from jobs.models import Job
from tests.jobs.conftest import LONG_AGO, ran, seen, start
from tests.support import factories

pytestmark = pytest.mark.usefixtures("handlers")


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
    own_jobs, other_jobs = [[start(each, "remembers") for _ in range(2)] for each in (brand, other)]
    run_now(*own_jobs, other_jobs[0])

    runner.run(other_jobs[1].pk)
    assert (seen, Job.objects.get(pk=other_jobs[1].pk).status) == ([], "queued")
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
