"""Celery tasks: mails about used-up budgets, segments, welcome and birthday points, broadcasts, old replays."""

from celery import shared_task
from django.utils import timezone

from campaigns.accrual import birthdays, welcome
from campaigns.broadcasts import figures, lifecycle
from campaigns.earning import budgets
from campaigns.replay import jobs
from campaigns.segments import evaluate
from core.db.connections import with_fresh_connection


@shared_task
def notify_used_up_budgets() -> int:
    """Every few minutes: mail a brand's owners about budgets that are used up; returns how many."""
    return with_fresh_connection(lambda: budgets.notify_used_up(at=timezone.now()))


@shared_task
def evaluate_segments() -> int:
    """Every minute: make segments' members those who fulfil their conditions now; returns the number of segments."""
    return with_fresh_connection(lambda: evaluate.catch_up(at=timezone.now()))


@shared_task
def welcome_members() -> int:
    """Every minute: publish the events that earn new members their welcome points; returns how many."""
    return with_fresh_connection(lambda: welcome.publish_welcomes(at=timezone.now()))


@shared_task
def celebrate_birthdays() -> int:
    """Every minute: publish the events that earn members their birthday points; returns how many."""
    return with_fresh_connection(lambda: birthdays.publish_birthdays(at=timezone.now()))


@shared_task
def begin_broadcasts() -> int:
    """Every minute: begin the broadcasts that are due; returns how many."""
    return with_fresh_connection(lambda: lifecycle.begin_due(at=timezone.now()))


@shared_task
def settle_broadcasts() -> int:
    """Every few minutes: store the figures of finished broadcasts; returns the number of broadcasts."""
    return with_fresh_connection(lambda: figures.settle(at=timezone.now()))


@shared_task
def purge_replays() -> int:
    """Every hour: delete expired replays; returns how many."""
    return with_fresh_connection(lambda: jobs.purge(at=timezone.now()))
