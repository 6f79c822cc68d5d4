"""The same with Celery's defaults, as for a worker of plain tasks."""

from bench import settings

OURS = ("CELERY_DB_REUSE_MAX", "CELERY_TASK_ACKS_LATE", "CELERY_WORKER_", "CELERY_TASK_REJECT_ON_WORKER_LOST")
globals().update(
    {name: value for name, value in vars(settings).items() if name.isupper() and not name.startswith(OURS)}
)
