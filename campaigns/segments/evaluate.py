"""Evaluates segments. Only this module and the erasure write SegmentMember; only this one stores evaluation results.

A segment is evaluated as a whole when it is new, when its conditions have changed, and once a day. In between, only
members are evaluated about whom something changed since, or for whom a bound of so many days passed.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from campaigns.earning.conditions import ConditionsError
from campaigns.segments import member_conditions
from campaigns.segments.plan import AMONG_ACCOUNTS, Plan, Source, planned_for_sets
from core.db import sql
from core.db.advisory_locks import LockOfRow, try_lock_row
from core.db.statements import part, query
from loyalty.models.programme.segments import Segment, SegmentMember

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 45
# Changes are committed some time after the moment that they are stored with. Later commits are found once a day.
OVERLAP = timedelta(minutes=10)
INTERVAL = timedelta(minutes=5)
WHOLE_AFTER = timedelta(days=1)
RELATIVE_INTERVAL = timedelta(hours=1)
# Members evaluated in one statement. Above MAX_TOUCHED, all members are evaluated, which costs no more.
AT_ONCE = 20_000
MAX_TOUCHED = 200_000
WRITE_MEMBERS = part("campaigns/segments/sql/write_members.sql")


@dataclass(frozen=True, slots=True)
class TouchedMember:
    account_id: int
    user_id: int


FETCH_TOUCHED = query("campaigns/segments/sql/fetch_touched.sql", returns=TouchedMember)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation changed; `touched` is None if all members were evaluated."""

    joined: int
    left: int
    touched: int | None


def evaluate(segment_id: int, *, at: datetime) -> Evaluation | None:
    """Make a segment's members those who fulfil its conditions at `at`. Owns the transaction.

    None: it is gone, its conditions can no longer be read, it compares all members and was evaluated within the hour,
    or another process evaluates it now.
    """
    with transaction.atomic():
        if not try_lock_row(LockOfRow.SEGMENT_EVALUATION, segment_id):
            return None
        segment = Segment.objects.select_related("brand").filter(pk=segment_id).first()
        if segment is None:
            return None
        try:
            plan = member_conditions.plan_of(segment.conditions, brand=segment.brand, at=at)
        except ConditionsError:
            return None
        if _is_recent(segment, plan):
            return None
        touched = _touched(segment, plan)
        result = _write(segment, plan, touched)
        values: dict[str, Any] = {"evaluated_at": at, "plan_fingerprint": plan.fingerprint}
        values["member_count"] = SegmentMember.objects.filter(segment=segment_id).count()
        if touched is None:
            values["fully_evaluated_at"] = at
        Segment.objects.filter(pk=segment_id).update(**values)
    return result


def is_current(segment: Segment, *, at: datetime) -> bool:
    """Whether its members were selected by the conditions that it has now."""
    try:
        plan = member_conditions.plan_of(segment.conditions, brand=segment.brand, at=at)
    except ConditionsError:
        return True  # reported with its reason by whoever asks
    return segment.evaluated_at is not None and segment.plan_fingerprint == plan.fingerprint


def _is_recent(segment: Segment, plan: Plan) -> bool:
    """Whether it compares members with each other and was evaluated recently: then all are evaluated, so less often."""
    if not plan.is_relative or segment.evaluated_at is None or segment.plan_fingerprint != plan.fingerprint:
        return False
    return plan.at - segment.evaluated_at < RELATIVE_INTERVAL


def _touched(segment: Segment, plan: Plan) -> list[TouchedMember] | None:
    """Members who may have changed since the last evaluation; None if any member may have."""
    last, whole = segment.evaluated_at, segment.fully_evaluated_at
    if last is None or whole is None or plan.at - whole >= WHOLE_AFTER:
        return None
    if plan.is_relative or segment.plan_fingerprint != plan.fingerprint:
        return None
    touched = FETCH_TOUCHED.all(
        brand_id=segment.brand_id,
        since=last - OVERLAP,
        at=plan.at,
        scans=plan.days(Source.SCANS),
        orders=plan.days(Source.ORDERS),
        entries=plan.days(Source.LEDGER),
        enrolled=plan.days(Source.ENROLLED),
        limit=MAX_TOUCHED + 1,
    )
    return None if len(touched) > MAX_TOUCHED else touched


def _write(segment: Segment, plan: Plan, touched: list[TouchedMember] | None) -> Evaluation:
    statement = WRITE_MEMBERS.replace("{matching}", plan.text(among=touched is not None))
    statement = statement.replace("{among_accounts}", "IS NOT NULL" if touched is None else AMONG_ACCOUNTS)
    parameters = {**plan.parameters, "segment_id": segment.pk, "at": plan.at}
    joined = left = 0
    for members in [()] if touched is None else batched_members(touched):
        among = {
            "among_users": [member.user_id for member in members],
            "among_accounts": [member.account_id for member in members],
        }
        with planned_for_sets():
            [(came, went)] = sql.rows(statement, {**parameters, **(among if members else {})})
        joined, left = joined + came, left + went
    return Evaluation(joined, left, None if touched is None else len(touched))


def batched_members(members: list[TouchedMember]) -> list[list[TouchedMember]]:
    return [members[start : start + AT_ONCE] for start in range(0, len(members), AT_ONCE)]


def due(*, at: datetime) -> list[int]:
    """Segments to evaluate now: new and changed ones first, then those tried longest ago.

    The first one of each brand, then the second one of each, so that a brand with many does not delay the others.
    """
    longest_ago: list[Any] = [F("tried_at").asc(nulls_first=True), F("pk")]
    rows = Segment.objects.filter(Q(tried_at=None) | Q(tried_at__lte=at - INTERVAL))
    rows = rows.annotate(turn=Window(RowNumber(), partition_by="brand", order_by=longest_ago))
    return list(rows.order_by("turn", *longest_ago).values_list("pk", flat=True))


def catch_up(*, at: datetime) -> int:
    """Evaluate due segments until shortly before the next call of the task; returns how many were evaluated."""
    started, evaluated = monotonic(), 0
    for segment_id in due(at=at):
        if monotonic() - started > PATIENCE_SECONDS:
            break
        # Set first, so that a segment which cannot be evaluated waits for its turn and is not tried before all others.
        Segment.objects.filter(pk=segment_id).update(tried_at=timezone.now())
        try:
            evaluated += evaluate(segment_id, at=timezone.now()) is not None
        except DatabaseError:  # a timeout, or the segment was deleted: continue with the others
            logger.exception("Segment %d could not be evaluated.", segment_id)
    return evaluated
