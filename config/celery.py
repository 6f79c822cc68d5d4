"""The Celery application: it wakes workers up; what there is to do stands in PostgreSQL."""

import logging.config
import os

from celery import Celery
from celery.signals import setup_logging, task_prerun
from django.conf import settings

from brands.database_outages import drop_dead_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("loyalty")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def log_as_elsewhere(**_signal: object) -> None:
    """Celery would set levels and handlers of its own."""
    logging.config.dictConfig(settings.LOGGING)


@task_prerun.connect
def look_at_connections(**_signal: object) -> None:
    """Of every worker and task: CELERY_DB_REUSE_MAX keeps connections between tasks, the dead ones too."""
    drop_dead_connections()
