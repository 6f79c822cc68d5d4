"""Celery tasks: mails about used-up budgets, segments, welcome and birthday points, broadcasts, old replays."""

from campaigns.accrual import birthdays, welcome
from campaigns.broadcasts import figures, lifecycle
from campaigns.earning import budgets
from campaigns.replay import jobs
from campaigns.segments import evaluate
from core.db.connections import periodic_task

notify_used_up_budgets = periodic_task("campaigns.tasks.notify_used_up_budgets", budgets.notify_used_up)
evaluate_segments = periodic_task("campaigns.tasks.evaluate_segments", evaluate.catch_up)
welcome_members = periodic_task("campaigns.tasks.welcome_members", welcome.publish_welcomes)
celebrate_birthdays = periodic_task("campaigns.tasks.celebrate_birthdays", birthdays.publish_birthdays)
begin_broadcasts = periodic_task("campaigns.tasks.begin_broadcasts", lifecycle.begin_due)
settle_broadcasts = periodic_task("campaigns.tasks.settle_broadcasts", figures.store_final)
purge_replays = periodic_task("campaigns.tasks.purge_replays", jobs.purge)
