"""What staff do in tests of webhook types."""

from django.utils import timezone

from brands.audit_log import AuditContext


def by_hand(reason="Sorry"):
    return AuditContext(None, timezone.now(), "", reason)
