"""Saved lists and their scheduled reports."""

from datetime import UTC, datetime

from brands.models.saved_lists import SavedList
from jobs.models import ReportRecipient, ReportSchedule

CODES, LABEL = "authcodes.authcode", "jobs.reportschedule"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def saved_list(owner, brand, **fields):
    defaults = {"name": "Live codes", "model_label": CODES, "query": {"status": ["unscanned"]}}
    return SavedList.objects.create(owner=owner, brand=brand, **{**defaults, **fields})


def schedule(owner, brand, *recipients, saved=None, **fields):
    defaults = {"frequency": "daily", "hour": 12, "next_at": NOON, "time_zone": brand.time_zone}
    saved = saved or saved_list(owner, brand)
    report_schedule = ReportSchedule.objects.create(
        owner=owner, brand=brand, saved_list=saved, **{**defaults, **fields}
    )
    ReportRecipient.objects.bulk_create(
        ReportRecipient(schedule=report_schedule, user=each) for each in recipients or (owner,)
    )
    return report_schedule
