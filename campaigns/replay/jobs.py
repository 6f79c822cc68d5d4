"""Replays as jobs: started by staff, run by a worker, deleted when they expire."""

from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants import local_time
from campaigns.models.replays import Replay
from campaigns.replay.drafts import Draft
from campaigns.replay.replay import replay
from core import languages
from core.db import replica
from core.db.advisory_locks import LockOfRow, lock_row
from core.errors import Invalid, QuotaReached, raises
from core.numbers import grouped
from jobs import queue, runner
from jobs.file_exports import PATIENCE_SECONDS, PROGRESS_SECONDS, separate_connection
from jobs.kinds import JobKind
from jobs.models import Job

RETENTION = timedelta(days=30)
MIN_DAYS, MAX_DAYS = 1, 366


def max_days() -> int:
    """How far back actions are stored."""
    return min(MAX_DAYS, settings.POINT_EVENT_DAYS or MAX_DAYS)


@raises(QuotaReached)
def start(*, brand: Brand, draft: Draft, days: int, by: User | None, at: datetime) -> Replay:
    """Start a job that tries the draft on the actions of the last `days`. Joins the caller's transaction.

    Raises Invalid if `days` is out of range or another replay of the brand is running, and QuotaReached.
    """
    most = max_days()
    if not MIN_DAYS <= days <= most:
        raise Invalid(_("Choose 1 to %(most)d days.") % {"most": most}, details={"field": "days"})
    lock_start(brand.pk)
    if Job.objects.unfinished().filter(brand=brand, kind=REPLAY.name).exists():
        raise Invalid(_("Another replay is running. Wait until it has ended, or cancel it."))
    first = brand.day_at(at) - timedelta(days=days - 1)
    made = Replay.objects.create(
        brand=brand,
        kind=draft.kind,
        rule_id=draft.rule_id,
        campaign_id=draft.campaign_id,
        name=draft.name,
        content=draft.content,
        since=local_time.midnight(first, brand.zone),
        until=at,
        created_by=by,
        created_at=at,
        expires_at=at + RETENTION,
    )
    with languages.in_english():
        title = ngettext("Try “%(draft)s” on the last day", "Try “%(draft)s” on the last %(days)d days", days)
        title %= {"draft": draft.name, "days": days}
    made.job = queue.start(
        brand=brand,
        kind=REPLAY.name,
        title=title,
        parameters={"replay_id": made.pk},
        by=by,
    )
    made.save(update_fields=["job"])
    return made


def lock_start(brand_id: int) -> None:
    """Serialise the start of replays, so that a second one sees the first. Joins a transaction."""
    lock_row(LockOfRow.REPLAYS, brand_id)


def run_replay(run: runner.Run) -> None:
    """The job's handler. When run again, it starts over: until its end it writes nothing but its progress."""
    made = Replay.objects.select_related("brand").filter(pk=run.parameters["replay_id"], brand=run.job.brand).first()
    if made is None:
        raise Invalid(_("The draft of this replay was deleted."))
    began = monotonic()
    with separate_connection(made.brand, replica.alias(patience_seconds=PATIENCE_SECONDS)) as raw:
        result = replay(
            brand=made.brand,
            draft=Draft(made.kind, made.name, made.content, made.rule_id, made.campaign_id),
            since=made.since,
            until=made.until,
            raw=raw,
            progress=_throttled(run),
        )
    result["seconds"] = round(monotonic() - began, 1)
    with transaction.atomic():
        run.progress(result["actions"], result["actions"])
        Replay.objects.filter(pk=made.pk).update(result=result, finished_at=timezone.now())
    message = ngettext("%(number)s action decided again.", "%(number)s actions decided again.", result["actions"])
    run.log(message % {"number": grouped(result["actions"])})


def _throttled(run: runner.Run) -> Any:
    """A progress callback that reports at intervals, not after each page. It also notices a cancellation."""
    due = monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal due
        if monotonic() >= due:
            run.progress(done, total)
            due = monotonic() + PROGRESS_SECONDS

    return progress


def purge(*, at: datetime) -> int:
    """Delete expired replays; returns how many."""
    return Replay.objects.filter(expires_at__lte=at).delete()[0]


REPLAY = JobKind(
    name="replay-rule",
    label=gettext_lazy("Replay past actions with a draft"),
    run=run_replay,
    on_cancel=gettext_lazy("Nothing of the replay is kept. You can start it again."),
    visible_with="campaigns.replay",
)
