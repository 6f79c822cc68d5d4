"""A person's data in jobs: the reports that they scheduled as staff, and those that are mailed to them."""

from datetime import datetime
from typing import Any

from core.db import row_guard
from core.personal_data import Topic
from jobs.models import ReportRecipient, ReportSchedule


def export_report_schedules(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """The schedules that the person made, as JSON."""
    with row_guard.brand_wide("schedules are staff's, and no customer's to list"):
        own = ReportSchedule.objects.filter(owner=user_id, brand=brand_id).select_related("saved_list").order_by("id")
        return [{"created_at": each.created_at.isoformat(), "report": str(each)} for each in own]


def erase_report_schedules(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    ReportSchedule.objects.filter(owner=user_id, brand=brand_id).delete()
    ReportRecipient.objects.filter(user=user_id, schedule__brand=brand_id).delete()


REPORT_SCHEDULES = Topic(export_report_schedules, erase_report_schedules)
