"""Celery tasks: release and expire points, find referrals, roll up the programme, check wallets, purge old rows."""

from datetime import datetime, timedelta

from core.db.connections import periodic_task
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

WEBHOOK_LOG_RETENTION = timedelta(days=30)


def purge_webhook_log(*, at: datetime) -> int:
    """Delete webhook deliveries older than WEBHOOK_LOG_RETENTION from the log."""
    return webhook_events.purge(before=at - WEBHOOK_LOG_RETENTION)


purge_webhook_messages = periodic_task("loyalty.tasks.purge_webhook_messages", purge_webhook_log)
purge_confirmations = periodic_task("loyalty.tasks.purge_confirmations", confirmations.purge_ended)
release_opening_balances = periodic_task(
    "loyalty.tasks.release_opening_balances", opening_balances.release_where_not_needed
)
check_wallets = periodic_task("loyalty.tasks.check_wallets", selfcheck.report)
check_sender_domains = periodic_task("loyalty.tasks.check_sender_domains", sender_domains.request_due_checks)
expire_points = periodic_task("loyalty.tasks.expire_points", expiry.catch_up)
settle_levels = periodic_task("loyalty.tasks.settle_levels", run.catch_up)
refresh_member_lists = periodic_task("loyalty.tasks.refresh_member_lists", refresh.refresh)
find_referrals = periodic_task("loyalty.tasks.find_referrals", find.publish_first_actions)
release_points = periodic_task("loyalty.tasks.release_points", releases.catch_up)
roll_up_programme = periodic_task("loyalty.tasks.roll_up_programme", rollups.catch_up_all)
