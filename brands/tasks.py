"""What the workers run for people and tokens."""

from celery import shared_task
from django.utils import timezone

from brands import tokens
from brands.staff_login import invitations, mails, sessions


@shared_task
def forget_ended_sessions() -> int:
    """Every day: login sessions that have ended take no more room."""
    now = timezone.now()
    sessions.forget_ended(at=now)
    mails.forget_old(at=now)
    invitations.forget_old(at=now)
    return tokens.forget_ended(at=now)


@shared_task
def send_staff_mails() -> int:
    """When one was written, and every minute for those that no worker was called for or that were not taken."""
    return mails.send_due(at=timezone.now())
