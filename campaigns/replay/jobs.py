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
from campaigns.earning import rules
from campaigns.earning.conditions import ConditionsError
from campaigns.earning.limits import LimitsError
from campaigns.models.earning_rules import EarningRule
from campaigns.models.replays import Replay
from campaigns.replay.replay import replay
from core.db import replica
from core.errors import Invalid
from jobs import queue, runner
from jobs.file_exports import PATIENCE_SECONDS, PROGRESS_SECONDS, separate_connection
from jobs.kinds import JobKind
from jobs.models import Job

RETENTION = timedelta(days=30)
MIN_DAYS, MAX_DAYS = 1, 366


def max_days() -> int:
    """How far back actions are kept."""
    return min(MAX_DAYS, settings.POINT_EVENT_DAYS or MAX_DAYS)


def start(*, rule: EarningRule, days: int, by: User | None, at: datetime) -> Replay:
    """Have a worker try the rule, as it is now, on the actions of the last `days`, in the caller's transaction.

    Raises Invalid for a number of days that is out of range and for a rule that cannot be read, and QuotaReached.
    """
    most = max_days()
    if not MIN_DAYS <= days <= most:
        raise Invalid(_("Choose 1 to %(most)d days.") % {"most": most}, details={"field": "days"})
    if rule.kind not in EarningRule.Kind.values:
        raise Invalid(_("Rules for own kinds of events cannot be tried on past actions yet."))
    if rule.kind == EarningRule.Kind.WELCOME:
        raise Invalid(_("Rules for joining cannot be tried on past actions: members join once."))
    if rule.kind == EarningRule.Kind.BIRTHDAY:
        raise Invalid(_("Rules for birthdays cannot be tried on past actions."))
    running = Job.objects.unfinished().filter(brand=rule.brand_id, kind=REPLAY.name)
    if running.exists():
        raise Invalid(_("Another rule is being tried. Wait until that has ended, or cancel it."))
    content = rules.content_of(rule)
    try:
        rules.candidate_of(rule.pk, 0, content)
    except (ConditionsError, LimitsError) as error:
        raise Invalid(str(error)) from error
    midnight = at.astimezone(rule.brand.zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    made = Replay.objects.create(
        brand=rule.brand,
        rule=rule,
        rule_name=rule.name,
        content=content,
        since=midnight - timedelta(days=days - 1),
        until=at,
        created_by=by,
        created_at=at,
        expires_at=at + RETENTION,
    )
    made.job = queue.start(
        brand=rule.brand,
        kind=REPLAY.name,
        title=ngettext("Try “%(rule)s” on the last day", "Try “%(rule)s” on the last %(days)d days", days)
        % {"rule": rule.name, "days": days},
        parameters={"replay_id": made.pk},
        by=by,
    )
    made.save(update_fields=["job"])
    return made


def run_replay(run: runner.Run) -> None:
    """The job's handler. Run again it begins anew: until it ends it writes nothing but how far it is."""
    made = Replay.objects.select_related("brand").filter(pk=run.parameters["replay_id"], brand=run.job.brand).first()
    if made is None:
        raise Invalid(_("The rule was deleted."))
    began = monotonic()
    with separate_connection(made.brand, replica.alias(patience_seconds=PATIENCE_SECONDS)) as raw:
        result = replay(
            brand=made.brand,
            rule_id=made.rule_id,
            content=made.content,
            since=made.since,
            until=made.until,
            raw=raw,
            progress=_now_and_then(run),
        )
    result["seconds"] = round(monotonic() - began, 1)
    with transaction.atomic():
        run.progress(result["actions"], result["actions"])
        Replay.objects.filter(pk=made.pk).update(result=result, finished_at=timezone.now())
    run.log(_("%(number)s actions decided again.") % {"number": f"{result['actions']:,}"})


def _now_and_then(run: runner.Run) -> Any:
    """A word about how far it is, in which a wish to cancel is heard too, but not after each page."""
    due = monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal due
        if monotonic() >= due:
            run.progress(done, total)
            due = monotonic() + PROGRESS_SECONDS

    return progress


def purge(*, at: datetime) -> int:
    """Delete those that have expired; returns how many."""
    return Replay.objects.filter(expires_at__lte=at).delete()[0]


REPLAY = JobKind(
    name="replay-rule",
    label=gettext_lazy("Try a rule on past actions"),
    run=run_replay,
    on_cancel=gettext_lazy("Nothing is kept of it. You can start it again."),
    visible_with="campaigns.replay",
)
