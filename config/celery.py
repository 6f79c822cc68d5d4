"""The Celery application: it wakes workers up; what there is to do stands in PostgreSQL."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("loyalty")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
