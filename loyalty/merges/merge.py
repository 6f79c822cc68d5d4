"""Merges: a person's source account ends, and its target account at the same brand takes over everything.

One transaction does it all. The ledger carries the totals over. Orders, scans and earlier entries stay with the source,
and lead to the target (loyalty/points/accounts.py).
"""

import uuid
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.identity import tokens
from core.errors import IdempotencyKeyReused, Invalid, raises
from core.json_values import json_number
from events import publishing
from events.messages import NewEvent
from loyalty.errors import MergeNotPossible
from loyalty.integrations import webhook_events
from loyalty.merges import level_periods
from loyalty.merges.eligibility import merge_error
from loyalty.merges.parts import Sides, parts
from loyalty.merges.totals import CarriedSide, PastActivity, Totals, carry_over, in_note, out_note
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge
from loyalty.models.pending import PendingPoints
from loyalty.models.programme.referrals import Referral
from loyalty.models.rewards import Redemption
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts, ledger, levels
from loyalty.points.balance_events import balances_changed
from loyalty.rewards import reassignment

# An arbitrary constant UUID: the namespace of event ids derived from merges.
EVENT_ID_NAMESPACE = uuid.UUID("9c1b7f52-8f0b-4a35-8f70-3a6c1f6d2f4e")


@dataclass(frozen=True, slots=True)
class MergePreview:
    """The result of a merge: the target's points and level after it, and what else is carried over."""

    balance: Decimal
    lifetime: Decimal
    pending: Decimal
    owed: Decimal
    settled: Decimal
    level: str
    redemptions: int
    other_lines: tuple[str, ...]


def preview(*, target: UserPoints, source: UserPoints) -> MergePreview:
    totals = Totals.of(source)
    settled = totals.settled_with(target)
    # Settled points were owed, so they are already subtracted from the lifetime points.
    lifetime = target.lifetime + totals.lifetime
    sides = sides_of(target, source)
    if level_periods.has_periods(target.brand):
        level = level_periods.preview(target=target, source=source)
    else:
        level = level_after(target, lifetime)
    return MergePreview(
        balance=target.points + totals.points - settled,
        lifetime=lifetime,
        pending=target.points_pending + totals.pending,
        owed=target.points_owed + totals.owed - settled,
        settled=settled,
        level=level,
        redemptions=redemptions_to_move(target, source).filter(status=Redemption.Status.ISSUED).count(),
        other_lines=tuple(line for _name, part in parts() for line in part.preview(sides)),
    )


@raises(IdempotencyKeyReused, MergeNotPossible)
def merge(*, target: UserPoints, source: UserPoints, key: uuid.UUID, audit_context: AuditContext) -> AccountMerge:
    """Merge the account `source` into `target`. The same `key` returns the earlier merge. Owns the transaction.

    Locks both accounts in the order of their ids, like all code that locks several. A concurrent change of an account
    either commits first and is carried over, or runs later and finds the account merged. Raises Invalid without a
    reason, MergeNotPossible with the obstacle, and IdempotencyKeyReused if the key belongs to another merge.
    """
    if not audit_context.reason.strip():
        raise Invalid(_("Enter a reason for the merge."), details={"field": "reason"})
    at = audit_context.at
    with transaction.atomic():
        accounts.lock_many(accounts=sorted({target.pk, source.pk}))
        if earlier := AccountMerge.objects.filter(request_key=key).first():
            if (earlier.target_id, earlier.source_id) != (target.pk, source.pk):
                raise IdempotencyKeyReused
            return earlier
        rows = UserPoints.objects.select_related("user", "brand").in_bulk([target.pk, source.pk])
        target, source = rows[target.pk], rows[source.pk]
        if why := merge_error(target, source):
            raise MergeNotPossible(why)
        made = make(target, source, key, audit_context)
        tokens.revoke_at_brand(user_id=source.user_id, brand_id=source.brand_id, at=at)
        following = consequences(made, sides_now(made), at=at)
        publishing.publish(messages=following, brand_id=made.brand_id, at=at)
        log(made, target, source, audit_context)
        return made


def make(target: UserPoints, source: UserPoints, key: uuid.UUID, audit_context: AuditContext) -> AccountMerge:
    """Write the merge. Both accounts are locked."""
    at, totals, past = audit_context.at, Totals.of(source), PastActivity.of(source)
    sides = sides_of(target, source)
    made = AccountMerge.objects.create(
        brand_id=target.brand_id,
        target=target,
        source=source,
        note=audit_context.reason,
        points=totals.points,
        settled=totals.settled_with(target),
        carried=totals.as_json(),
        moved={},
        level_before=target.current_level,
        request_key=key,
        created_at=at,
    )
    carry_over(
        totals, past, source=source.pk, target=target.pk, reason=str(made.pk), notes=(out_note(), in_note()), at=at
    )
    accounts.set_merged(source=source, target=target)
    periods = None
    if level_periods.has_periods(target.brand):
        periods = level_periods.after_merge(target=target, source=source, at=at)
    target.refresh_from_db()
    made.level_after = target.current_level if periods else level_after(target, target.lifetime)
    if made.level_after != target.current_level:
        ledger.set_current_level(account=target.pk, level=made.level_after, at=at)
    made.moved = {
        "level_periods": periods,
        "past": asdict(past),
        "pending": move_pending(source, target),
        "redemptions": move_redemptions(source, target),
        "referrals": move_referrals(source, target),
        **{name: part.merge(sides, at) for name, part in parts()},
    }
    made.save(update_fields=["moved", "level_after"])
    return made


def move_pending(source: UserPoints, target: UserPoints) -> list[int]:
    """Move the source's pending points to the target, which receives what is released."""
    rows = PendingPoints.objects.filter(user_point=source)
    entries = list(rows.values_list("pk", flat=True))
    rows.update(user_point=target)
    return entries


def move_referrals(source: UserPoints, target: UserPoints) -> list[int]:
    """Move the source's waiting referrals to the target, except one whose friend is the target."""
    rows = Referral.objects.filter(referrer=source, state=Referral.State.WAITING).exclude(friend=target)
    ids = list(rows.values_list("pk", flat=True))
    rows.update(referrer=target)
    return ids


def redemptions_to_move(target: UserPoints, source: UserPoints) -> QuerySet[Redemption]:
    """The source's redemptions, except those of milestones that the target has too, whose codes stay valid there."""
    own = Redemption.objects.filter(
        user_point=target, milestone_id=OuterRef("milestone_id"), milestone_round=OuterRef("milestone_round")
    )
    return Redemption.objects.filter(user_point=source).exclude(Exists(own))


def move_redemptions(source: UserPoints, target: UserPoints) -> list[int]:
    ids = list(redemptions_to_move(target, source).values_list("pk", flat=True))
    reassignment.reassign(redemptions=ids, account=target.pk)
    return ids


def level_after(target: UserPoints, lifetime: Decimal) -> str:
    return levels.level_after(levels=levels.levels_of(target.brand), name=target.current_level, lifetime=lifetime)


def sides_of(target: UserPoints, source: UserPoints) -> Sides:
    return Sides(target.brand_id, target.user_id, source.user_id)


def sides_now(made: AccountMerge) -> list[CarriedSide]:
    """Both accounts after the merge or its undo, the target first."""
    rows = UserPoints.objects.in_bulk([made.target_id, made.source_id])
    return [
        CarriedSide(row.pk, row.user_id, row.points, row.lifetime, row.current_level, made.settled)
        for row in (rows[made.target_id], rows[made.source_id])
    ]


def consequences(made: AccountMerge, sides: list[CarriedSide], *, at: datetime) -> list[NewEvent]:
    """Events for the wallets of both members, and for webhooks."""
    cause = f"merge:{made.pk}" if made.undone_at is None else f"merge:{made.pk}:undo"
    balances = balances_changed(sides, brand_id=made.brand_id, cause=cause, namespace=EVENT_ID_NAMESPACE)
    target, source = sides
    kind = WebhookType.MEMBER_MERGED if made.undone_at is None else WebhookType.MEMBER_UNMERGED
    data = {
        "merge_id": made.pk,
        "merged_user_id": source.user_id,
        "points_moved": json_number(made.points),
        "new_balance": json_number(target.balance),
        "current_level": target.current_level,
        "lifetime_points": json_number(target.lifetime),
        "cause": cause,
    }
    return balances + webhook_events.events_for_subscribers(
        kind,
        data,
        brand_id=made.brand_id,
        user_id=target.user_id,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{cause}"),
        at=at,
    )


def log(made: AccountMerge, target: UserPoints, source: UserPoints, audit_context: AuditContext) -> None:
    """Log the merge in the audit log of both members, by account number."""
    after = UserPoints.objects.get(pk=target.pk)
    changes = {"points": (target.points, after.points), "merge": (None, f"#{source.pk} → #{target.pk}")}
    rows = [
        AuditedChange(target, made.brand_id, changes),
        AuditedChange(source, made.brand_id, {**changes, "points": (source.points, Decimal(0))}),
    ]
    audit_log.record(audit_context=audit_context, action=gettext_noop("Accounts merged"), rows=rows)
