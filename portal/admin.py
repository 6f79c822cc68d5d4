"""Registers the portal's pages about brands, people, lists, jobs and events."""

from portal.pages import (
    api_keys,
    audit_log,
    brands,
    events,
    jobs,
    legal_texts,
    quotas,
    report_schedules,
    saved_lists,
    staff_roles,
    stopped_attempts,
    users,
)
from portal.staff_login import admin as staff_login

__all__ = [
    "api_keys",
    "audit_log",
    "brands",
    "events",
    "jobs",
    "legal_texts",
    "quotas",
    "report_schedules",
    "saved_lists",
    "staff_login",
    "staff_roles",
    "stopped_attempts",
    "users",
]
