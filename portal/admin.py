"""Registers the portal's pages about brands and people."""

from portal.pages import api_keys, audit_log, brands, quotas, staff_roles, stopped_attempts, users
from portal.staff_login import admin as staff_login

__all__ = ["api_keys", "audit_log", "brands", "quotas", "staff_login", "staff_roles", "stopped_attempts", "users"]
