"""The same with Celery as it comes: what a worker of plain tasks would run with."""

from bench import settings

OURS = ("CELERY_DB_REUSE_MAX", "CELERY_TASK_ACKS_LATE", "CELERY_WORKER_", "CELERY_TASK_REJECT_ON_WORKER_LOST")
globals().update(
    {name: value for name, value in vars(settings).items() if name.isupper() and not name.startswith(OURS)}
)
