"""How long a job has waited although a worker could take it: a sign of missing workers."""

from datetime import datetime

from django.conf import settings
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce, Greatest, Now

from jobs import queue
from jobs.models import Job

RECENT = 500  # jobs among which the last one that ended is searched


def overdue_seconds(at: datetime) -> float:
    """How long before `at` the oldest job in turn could have been taken, in seconds; 0 if none waits.

    Jobs that wait because all workers are busy, or behind others of their brand, do not count. After a job ends, the
    time counts from then.
    """
    alive = Q(status=Job.Status.RUNNING, alive_at__gte=Now() - queue.SILENCE)
    if Job.objects.filter(alive).count() >= settings.JOB_WORKERS:
        return 0.0
    since = Coalesce(Greatest("created_at", "alive_at"), F("created_at"))
    oldest = queue.in_turn().annotate(since=since).order_by("since").values_list("since", flat=True).first()
    if oldest is None:
        return 0.0
    recent = Job.objects.order_by("-id").values("pk")[:RECENT]
    last_end = Job.objects.filter(pk__in=recent).aggregate(last=Max("finished_at"))["last"]
    waited: float = (at - max(oldest, last_end or oldest)).total_seconds()
    return max(0.0, waited)
