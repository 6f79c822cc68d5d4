"""What the workers run for people and tokens."""

from celery import shared_task
from django.utils import timezone

from brands import tokens


@shared_task
def forget_ended_sessions() -> int:
    """Every day: login sessions that have ended take no more room."""
    return tokens.forget_ended(at=timezone.now())
