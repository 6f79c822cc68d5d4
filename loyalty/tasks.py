"""Celery tasks: release and expire points, find referrals, roll up the programme, check wallets, purge old rows."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from core.db.connections import with_fresh_connection
from loyalty.integrations import webhook_events
from loyalty.members import confirmations
from loyalty.members.listing import refresh
from loyalty.members.moving_in import opening_balances
from loyalty.notifications import sender_domains
from loyalty.orders import releases
from loyalty.points import expiry
from loyalty.points.level_periods import run
from loyalty.programme import rollups
from loyalty.referrals import find
from loyalty.wallets import selfcheck

WEBHOOK_LOG_LASTS = timedelta(days=30)


@shared_task
def purge_webhook_messages() -> int:
    """Every hour: delete webhook deliveries older than WEBHOOK_LOG_LASTS from the log."""
    before = timezone.now() - WEBHOOK_LOG_LASTS
    return with_fresh_connection(lambda: webhook_events.purge(before=before))


@shared_task
def purge_confirmations() -> int:
    """Every hour: delete expired e-mail confirmations, with the data of their registrations."""
    return with_fresh_connection(lambda: confirmations.purge_ended(at=timezone.now()))


@shared_task
def release_opening_balances() -> int:
    """Every hour: credit waiting opening balances at brands that no longer require confirmed addresses."""
    return with_fresh_connection(lambda: opening_balances.release_where_not_needed(at=timezone.now()))


@shared_task
def check_wallets() -> int:
    """Every day: log wallet certificates that end soon or fail. Returns how many."""
    return with_fresh_connection(lambda: selfcheck.report(at=timezone.now()))


@shared_task
def check_sender_domains() -> int:
    """Every hour: request checks of sender domains that were not checked for a day."""
    return with_fresh_connection(lambda: sender_domains.ask_for_old_ones(at=timezone.now()))


@shared_task
def expire_points() -> int:
    """Every few minutes: the nightly work of brands whose day has begun. Returns how many accounts it changed."""
    return with_fresh_connection(lambda: expiry.catch_up(at=timezone.now()))


@shared_task
def settle_levels() -> int:
    """Every minute: settle and warn about levels that end, at brands with level periods. Returns how many accounts."""
    return with_fresh_connection(lambda: run.catch_up(at=timezone.now()))


@shared_task
def refresh_member_lists() -> int:
    """Every minute: update the sort keys of member lists. Returns how many members changed."""
    return with_fresh_connection(lambda: refresh.refresh(at=timezone.now()))


@shared_task
def find_referrals() -> int:
    """Twice a minute: publish events for referrals whose friend has acted. Returns how many."""
    return with_fresh_connection(lambda: find.publish_first_actions(at=timezone.now()))


@shared_task
def release_points() -> int:
    """Every minute: release pending points that are due. Returns how many orders."""
    return with_fresh_connection(lambda: releases.catch_up(at=timezone.now()))


@shared_task
def roll_up_programme() -> int:
    """Every few minutes: roll up closed days and late entries, for the programme page."""
    return with_fresh_connection(lambda: rollups.catch_up_all(at=timezone.now()))
