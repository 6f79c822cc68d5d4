"""Jobs of the brands alternate: no brand has all workers, and none delays another."""

import pytest
from celery import current_app
from django.utils import timezone

from jobs import queue, runner
from jobs.models import Job
from tests.jobs.conftest import LONG_AGO, run_job, seen, start_job
from tests.support import factories

pytestmark = pytest.mark.usefixtures("handlers")


def test_brand_runs_two_jobs_while_its_other_jobs_wait(brand):
    first, second, third, fourth = (start_job(brand, "remembers") for _ in range(4))
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


def test_running_jobs_of_a_brand_delay_neither_other_brands_nor_recalls(brand):
    for _ in range(2):
        start_job(brand, "counts")
    Job.objects.update(status="running", attempts=1, alive_at=timezone.now())

    assert run_job(factories.brand(), "remembers").status == "done"
    assert run_job(brand, "notify-recall").status == "failed"  # because there is no recall


def mark_running(*jobs):
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(status="running", attempts=1, alive_at=timezone.now())


def test_two_brands_with_two_jobs_each_leave_a_worker_for_a_third(brand, settings):
    settings.JOB_WORKERS = 4
    other, third = factories.brand(), factories.brand()
    own_jobs, other_jobs = [[start_job(each, "remembers") for _ in range(2)] for each in (brand, other)]
    mark_running(*own_jobs, other_jobs[0])

    runner.run(other_jobs[1].pk)
    assert (seen, Job.objects.get(pk=other_jobs[1].pk).status) == ([], "queued")
    assert run_job(third, "remembers").status == "done"


def test_control_without_fair_shares_one_brand_fills_all_workers(brand, settings):
    settings.JOB_WORKERS = 4
    many = [start_job(brand, "remembers") for _ in range(20)]
    late = start_job(factories.brand(), "remembers")
    mark_running(*many[:3])
    assert [job.pk for job in queue.in_turn()] == [late.pk]
    settings.FAIR_SHARES = False

    runner.run(many[3].pk)

    assert Job.objects.get(pk=many[3].pk).status == "done"
    assert Job.objects.get(pk=late.pk).status == "queued"


def test_first_job_of_a_brand_starts_before_twenty_of_another(brand, settings, monkeypatch):
    settings.JOB_WORKERS = 3
    many = [start_job(brand, "remembers") for _ in range(20)]
    late = start_job(factories.brand(), "remembers")
    mark_running(many[0])
    called = []
    monkeypatch.setattr(current_app, "send_task", lambda _name, arguments, **_more: called.extend(arguments))

    runner.run(many[1].pk)

    assert called == [late.pk]


def test_brand_never_has_all_workers_whatever_its_limit(brand, settings):
    settings.JOBS_PER_BRAND, settings.JOB_WORKERS = 9, 2
    first, second = start_job(brand, "remembers"), start_job(brand, "remembers")
    mark_running(first)

    runner.run(second.pk)

    assert Job.objects.get(pk=second.pk).status == "queued"


def test_periodic_tasks_have_queues_of_their_own(settings):
    routed = {
        entry["task"]: current_app.amqp.router.route({}, entry["task"])
        for entry in settings.CELERY_BEAT_SCHEDULE.values()
    }

    queues = {task: route["queue"].name for task, route in routed.items()}
    assert queues.pop("events.tasks.sweep") == "events"
    assert set(queues.values()) == {"regular"}
    assert current_app.amqp.router.route({}, "jobs.tasks.run_job")["queue"].name == "work"


def test_finished_job_starts_the_next_one_of_its_brand(brand, settings, monkeypatch):
    settings.JOBS_PER_BRAND = 1
    waiting = [start_job(brand, kind) for kind in ("remembers", "breaks", "remembers", "counts")]
    monkeypatch.setattr(current_app, "send_task", lambda _name, arguments, **_more: runner.run(*arguments))

    runner.run(waiting[0].pk)

    assert list(Job.objects.order_by("finished_at").values_list("pk", flat=True)) == [job.pk for job in waiting]
