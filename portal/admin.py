"""Registers the portal's pages about brands, people, lists, jobs and events."""
# ruff: noqa: F401 - importing a page registers it

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
