"""A saved list of an owner, and reports of it on a schedule."""

from datetime import UTC, datetime

from brands.models.saved_lists import SavedList
from jobs.models import ReportRecipient, ReportSchedule

CODES, LABEL = "authcodes.authcode", "jobs.reportschedule"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def saved_list(owner, brand, **fields):
    plain = {"name": "Live codes", "model_label": CODES, "query": {"status": ["unscanned"]}}
    return SavedList.objects.create(owner=owner, brand=brand, **{**plain, **fields})


def schedule(owner, brand, *recipients, saved=None, **fields):
    plain = {"frequency": "daily", "hour": 12, "next_at": NOON, "time_zone": brand.time_zone}
    saved = saved or saved_list(owner, brand)
    made = ReportSchedule.objects.create(owner=owner, brand=brand, saved_list=saved, **{**plain, **fields})
    ReportRecipient.objects.bulk_create(ReportRecipient(schedule=made, user=each) for each in recipients or (owner,))
    return made
