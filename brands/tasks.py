"""What the workers run for people and tokens."""

from celery import shared_task
from django.utils import timezone

from brands.access import idempotent_requests
from brands.identity import tokens
from brands.models.undo_offers import UndoOffer
from brands.staff_login import invitations, mails, quota_mails, sessions
from brands.tenants import stopped_attempts


@shared_task
def purge_ended_sessions() -> int:
    """Every day: login sessions that have ended, and answers kept for repeated requests, take no more room."""
    now = timezone.now()
    idempotent_requests.purge_old(at=now)
    sessions.purge_ended(at=now)
    mails.purge_old(at=now)
    invitations.purge_old(at=now)
    UndoOffer.objects.filter(expires_at__lte=now).delete()
    return tokens.purge_ended(at=now)


@shared_task
def send_staff_mails() -> int:
    """When one was written, and every minute for those that no worker was called for or that were not taken."""
    return mails.send_due(at=timezone.now())


@shared_task
def warn_of_quotas() -> int:
    """Every ten minutes: owners hear of quotas that run out."""
    return quota_mails.send_due(at=timezone.now())


@shared_task
def store_stopped_attempts() -> int:
    """Every five minutes: what the limits of guessing stopped, for the portal's list."""
    return stopped_attempts.store(at=timezone.now())
