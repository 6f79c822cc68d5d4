"""Celery tasks that run and resume jobs."""

from celery import shared_task

from jobs import queue, runner


@shared_task
def run_job(job_id: int) -> None:
    """Run a job. A repeated message finds it taken."""
    runner.run(job_id)


@shared_task
def resume_jobs() -> int:
    """Every few seconds: start jobs that a lost message or a dead worker left."""
    return len(queue.resume())
