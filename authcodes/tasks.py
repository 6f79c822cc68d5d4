"""What the workers run for codes and scans."""

import logging

from celery import shared_task
from django.db.models import F
from django.utils import timezone

from authcodes import batches, jobs, scanning
from authcodes.models import BatchRange

logger = logging.getLogger(__name__)
PORTION = 500


@shared_task
def locate_scans() -> int:
    """Every few seconds: name city and region of scans that came with coordinates."""
    located = 0
    while portion := scanning.locate_pending(limit=PORTION):
        located += portion
    return located


@shared_task
def generate_batch(batch_id: int) -> int:
    """Make a batch's codes; a repeated message finds nothing left to make."""

    def report(done: int, quantity: int) -> None:
        logger.info("batch %d: %d of %d codes", batch_id, done, quantity)

    return batches.generate(batch_id=batch_id, at=timezone.now(), progress=report)


@shared_task
def resume_generation() -> int:
    """Every minute: take up generation that a lost worker or message left unfinished."""
    unfinished = BatchRange.objects.filter(generated_count__lt=F("quantity")).values_list("pk", flat=True)
    return sum(batches.generate(batch_id=pk, at=timezone.now()) for pk in unfinished)


@shared_task
def run_job(job_id: int) -> None:
    """Run a job of the portal; a repeated message finds it taken."""
    jobs.run(job_id)


@shared_task
def resume_jobs() -> int:
    """Every few seconds: start what a lost message or a dead worker left; every expired file goes."""
    jobs.forget_files()
    return len(jobs.resume())
