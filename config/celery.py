"""The Celery application. It only wakes workers up; the work itself is stored in PostgreSQL."""

import logging.config
import os
from typing import Any

import redis
from celery import Celery
from celery.signals import celeryd_init, setup_logging, task_prerun, worker_init
from django.conf import settings
from kombu.exceptions import KombuError
from kombu.transport import pyamqp

from core.db.outages import drop_dead_connections
from core.db.timeouts import add_session_options

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

POINTS_QUEUE = "events"
# What a broker that is away, overloaded or rejects the login raises. kombu converts only some of its libraries' errors.
RABBITMQ_ERRORS = (*pyamqp.Transport.connection_errors, *pyamqp.Transport.channel_errors)
BROKER_ERRORS: tuple[type[Exception], ...] = (KombuError, *RABBITMQ_ERRORS, redis.RedisError, OSError)

app = Celery("loyalty")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["config"], related_name="worker_metrics")

# Processes of the previous release call these tasks by their former names.
FORMER_NAMES = {
    "authcodes.tasks.resume_jobs": "jobs.tasks.resume_jobs",
    "authcodes.tasks.run_job": "jobs.tasks.run_job",
    "loyalty.tasks.deliver_due": "events.tasks.deliver_due",
    "loyalty.tasks.forget_events": "events.tasks.purge_events",
    "loyalty.tasks.forget_paid_events": "events.tasks.purge_paid_events",
    "loyalty.tasks.sweep": "events.tasks.sweep",
}


@setup_logging.connect
def use_logging_settings(**_signal: object) -> None:
    """Use settings.LOGGING: Celery would set levels and handlers of its own."""
    logging.config.dictConfig(settings.LOGGING)


@celeryd_init.connect
def wait_briefly_for_locks(options: dict[str, Any], **_signal: object) -> None:
    """Limit lock waits of points workers, whose few processes serve all brands: a long lock, such as an import's, then
    delays only its own brand's points. Other queues wait as long as a statement may."""
    if list(options.get("queues") or ()) == [POINTS_QUEUE]:
        add_session_options(f"-c lock_timeout={settings.WORKER_LOCK_TIMEOUT_MS}")


@worker_init.connect
def register_former_names(**_signal: object) -> None:
    for former, name in FORMER_NAMES.items():
        app.tasks[former] = app.tasks[name]


@task_prerun.connect
def check_connections(**_signal: object) -> None:
    """Drop dead connections before each task, because CELERY_DB_REUSE_MAX keeps connections between tasks."""
    drop_dead_connections()
