"""Workers' tasks for users and tokens."""

from celery import shared_task
from django.utils import timezone

from brands.access import idempotent_requests
from brands.identity import tokens
from brands.models.undo_offers import UndoOffer
from brands.staff_login import invitations, mails, quota_mails, sessions
from brands.tenants import stopped_attempts


@shared_task
def purge_ended_sessions() -> int:
    """Every day: delete ended sessions and offers to undo, and old mails, invitations and answers to requests."""
    now = timezone.now()
    idempotent_requests.purge_old(at=now)
    sessions.purge_ended(at=now)
    mails.purge_old(at=now)
    invitations.purge_old(at=now)
    UndoOffer.objects.filter(expires_at__lte=now).delete()
    return tokens.purge_ended(at=now)


@shared_task
def send_staff_mails() -> int:
    """When a mail was written, and every minute for mails whose wake-up failed or that the server rejected."""
    return mails.send_due(at=timezone.now())


@shared_task
def warn_of_quotas() -> int:
    """Every ten minutes: warn owners of quotas that run out."""
    return quota_mails.send_due(at=timezone.now())


@shared_task
def store_stopped_attempts() -> int:
    """Every five minutes: store what the guessing limits stopped, for the portal's list."""
    return stopped_attempts.store(at=timezone.now())
