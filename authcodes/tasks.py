"""Tasks of the workers for codes and scans."""

from celery import shared_task
from celery.signals import worker_init
from django.utils import timezone

from authcodes.fraud import fake_reports
from authcodes.imports import retention
from authcodes.places import geocoder
from authcodes.rollups import rollups
from authcodes.scanning import locate, lookups
from jobs import files, staged_uploads

PORTION = 500


@worker_init.connect
def load_places(**_signal: object) -> None:
    """Load before the worker forks: its children share the data, and none pauses to load it later."""
    geocoder.loaded_atlas()


@shared_task
def locate_scans() -> int:
    """Every few seconds: name city and region of scans that earlier releases recorded without them."""
    located = 0
    while portion := locate.locate_pending(limit=PORTION):
        located += portion
    return located


@shared_task
def purge_files() -> int:
    """Every minute: delete files of jobs, imports and previews after their retention."""
    now = timezone.now()
    return files.purge_files() + retention.purge_old(at=now) + staged_uploads.purge(at=now)


@shared_task
def purge_orphaned_uploads() -> int:
    """Every hour: delete files of previews whose process ended before it could register them."""
    return staged_uploads.purge_orphans(at=timezone.now())


@shared_task
def purge_lookups() -> int:
    """Every day: delete lookups of codes after their retention."""
    return lookups.purge_old(at=timezone.now())


@shared_task
def purge_fake_reports() -> int:
    """Every hour: delete fake reports after their retention."""
    return fake_reports.purge(at=timezone.now())


@shared_task
def roll_up_closed_days() -> int:
    """Every few minutes: roll up days that have closed, and days that were settled late."""
    return rollups.catch_up_all(at=timezone.now())
