"""Celery task that tells staff which rules have given all that there was."""

from celery import shared_task
from django.utils import timezone

from campaigns.earning import budgets
from core.db.connections import with_fresh_connection


@shared_task
def notify_used_up_budgets() -> int:
    """Every few minutes: mail a brand's owners about budgets of rules that are used up; returns how many."""
    return with_fresh_connection(lambda: budgets.notify_used_up(at=timezone.now()))
