"""Workers' tasks for the portal's staff."""

from celery import shared_task
from django.utils import timezone

from portal.saved_lists import schedules


@shared_task
def run_scheduled_reports() -> int:
    """Every minute: start due reports, and mail the outcome of those that ended."""
    now = timezone.now()
    return schedules.report_ended(at=now) + schedules.run_due(at=now)
