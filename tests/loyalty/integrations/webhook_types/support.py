"""Helpers for tests of webhook types."""

from django.utils import timezone

from brands.audit_log import AuditContext


def staff_context(reason="Sorry"):
    return AuditContext(None, timezone.now(), "", reason)
