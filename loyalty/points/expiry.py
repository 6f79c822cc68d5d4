"""Expiry of points: the nightly work that expires points and warns beforehand. It can be stopped at any point.

Points are spent first in, first out. What is left of the points earned before a moment is the balance minus what was
earned since. So entries need not record which points they spent, and only the balance and newer entries are read.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import groupby

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from brands.tenants import local_time
from brands.tenants.turns import TURN_SECONDS, in_turns
from core.db.statements import query
from core.json_values import json_number
from events import messages, publishing
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.expiry import ExpiryRun, ExpiryWarning
from loyalty.models.webhooks import WebhookType
from loyalty.points import ledger
from loyalty.points.accounts import lock_many
from loyalty.points.balance_events import balances_changed
from loyalty.points.expiry_rules import ExpiryRule
from loyalty.points.ledger import Expired

# An arbitrary constant UUID: the namespace of event ids derived from expiry.
EVENT_ID_NAMESPACE = uuid.UUID("b1d7e1b0-5f0f-4e0c-8a3c-6a0b7c1f9f2e")
TEMPLATE = "NOTIFY_POINTS_EXPIRING"
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CheckedAccount:
    """An account, and whether it has points that a run expires or warns of."""

    account: int
    is_due: bool


@dataclass(frozen=True, slots=True)
class EarnedLot:
    """What is left of one earning entry, from the ledger."""

    account: int
    user_id: int
    earned_at: datetime
    points: Decimal


FETCH_ACCOUNTS = query("loyalty/points/sql/fetch_accounts_to_expire.sql", returns=CheckedAccount)
FETCH_LOTS = query("loyalty/points/sql/fetch_point_lots.sql", returns=EarnedLot)


@dataclass(frozen=True, slots=True)
class PointLot:
    """What is left of one earning entry: `points` that are gone from the day `on`."""

    account: int
    user_id: int
    on: date
    points: Decimal


def rule_of(brand: Brand) -> ExpiryRule | None:
    """The brand's rule, or None if points do not expire."""
    never = brand.points_expire == Brand.Expiry.NEVER
    return None if never else ExpiryRule(brand.points_expire, brand.points_expire_after)


def catch_up(*, at: datetime, seconds: float = TURN_SECONDS) -> int:
    """Do the current day's work of all brands, a chunk of each in turn. Returns how many accounts it changed.

    Stops after `seconds`. A brand that fails is logged and tried again in the next call; the others go on.
    """
    brands = Brand.objects.exclude(points_expire=Brand.Expiry.NEVER)
    failure = "the points of the brand %s could not expire"
    return in_turns(brands, partial(chunks, at=at), failure=failure, seconds=seconds)


def run(*, brand: Brand, at: datetime) -> int:
    """Expire the points that are due today, then warn of those that are due soon. A repeated call resumes.

    Several workers share the work. Returns how many accounts lost points in this call.
    """
    return sum(chunks(brand, at=at))


def chunks(brand: Brand, *, at: datetime) -> Iterator[int]:
    """Do the work of `run` chunk by chunk. Yields how many accounts lost points, which is 0 for warnings."""
    rule = rule_of(brand)
    if rule is None:
        return
    day = brand.day_at(at)
    run_id = run_of_day(brand, rule, ExpiryRun.Kind.EXPIRE, day)
    while (members := take_chunk(run_id, at=at)) is not None:
        yield members
    if brand.expiry_warning_days:
        run_id = run_of_day(brand, rule, ExpiryRun.Kind.WARN, day)
        while warn_chunk(run_id, brand=brand, rule=rule, at=at):
            yield 0


def run_of_day(brand: Brand, rule: ExpiryRule, kind: ExpiryRun.Kind, day: date) -> int:
    """The id of the day's run. The first worker creates it, which fixes the settings for the day."""
    ahead = brand.expiry_warning_days if kind == ExpiryRun.Kind.WARN else 0
    retained_from = local_time.midnight(rule.retained_from(day + ahead * DAY), brand.zone)
    made, _new = ExpiryRun.objects.get_or_create(
        brand=brand, day=day, kind=kind, defaults={"retained_from": retained_from}
    )
    return made.pk


def take_chunk(run_id: int, *, at: datetime) -> int | None:
    """Expire the points of the next accounts in one transaction. Returns how many lost some; None if all are done."""
    with transaction.atomic():
        locked = ExpiryRun.objects.select_for_update().get(pk=run_id)
        seen = None if locked.finished_at else check_balances(locked)
        if not seen:
            finish(locked)
            return None
        gone = expire(locked, [each.account for each in seen if each.is_due], at=at)
        save_progress(
            locked, reached=seen[-1].account, members=len(gone), points=sum((each.points for each in gone), Decimal(0))
        )
        return len(gone)


def check_balances(run: ExpiryRun) -> list[CheckedAccount]:
    """The next accounts, and whether each has points for this run."""
    return FETCH_ACCOUNTS.all(
        brand_id=run.brand_id, after=run.reached, retained_from=run.retained_from, limit=settings.EXPIRY_CHUNK
    )


def finish(run: ExpiryRun) -> None:
    ExpiryRun.objects.filter(pk=run.pk, finished_at=None).update(finished_at=timezone.now())


def save_progress(run: ExpiryRun, *, reached: int, members: int, points: Decimal) -> None:
    ExpiryRun.objects.filter(pk=run.pk).update(
        reached=reached, members=F("members") + members, points=F("points") + points
    )


def expire(run: ExpiryRun, accounts: Sequence[int], *, at: datetime) -> list[Expired]:
    """Lock the accounts, check again and write. Their accruals wait until the commit."""
    if not accounts:
        return []
    lock_many(accounts=accounts)
    note = gettext_noop("Expired: earned before %(day)s") % {"day": run.brand.day_at(run.retained_from)}
    gone = ledger.expire(
        accounts=accounts, retained_from=run.retained_from, reason_id=f"expire:{run.day}", note=note, at=at
    )
    changed = balances_changed(gone, brand_id=run.brand_id, cause=f"expire:{run.day}", namespace=EVENT_ID_NAMESPACE)
    following = [*changed, *expired_events(run, gone, note=note, at=at)]
    publishing.publish(messages=following, brand_id=run.brand_id, at=at)
    return gone


def expired_events(run: ExpiryRun, gone: Sequence[Expired], *, note: str, at: datetime) -> list[messages.NewEvent]:
    """The webhook events points.expired, one per account, if a webhook subscribes."""
    kind, cause = WebhookType.POINTS_EXPIRED, f"expire:{run.day}"
    if not gone or not webhook_events.listens(brand_id=run.brand_id, kind=kind):
        return []
    return [
        webhook_events.webhook_event(
            kind,
            {
                "points_expired": json_number(each.points),
                "new_balance": json_number(each.balance),
                "transaction_id": str(each.loyalty_transaction_id),
                "note": note,
                "current_level": each.current_level,
                "cause": cause,
            },
            brand_id=run.brand_id,
            user_id=each.user_id,
            event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{cause}:{each.account}"),
            at=at,
        )
        for each in gone
    ]


# --- Warnings --------------------------------------------------------------------------------------------------------


def warn_chunk(run_id: int, *, brand: Brand, rule: ExpiryRule, at: datetime) -> bool:
    """Warn the next accounts of what expires soon, once each, in one transaction. Returns False if all are done."""
    with transaction.atomic():
        locked = ExpiryRun.objects.select_for_update().get(pk=run_id)
        seen = None if locked.finished_at else check_balances(locked)
        if not seen:
            finish(locked)
            return False
        warned = warnings(locked, [each.account for each in seen if each.is_due], brand=brand, rule=rule)
        publishing.publish(messages=warned, brand_id=brand.pk, at=at, once=True)
        points = sum((Decimal(str(each.payload["points"])) for each in warned), Decimal(0))
        save_progress(locked, reached=seen[-1].account, members=len(warned), points=points)
        return True


def warnings(run: ExpiryRun, accounts: Sequence[int], *, brand: Brand, rule: ExpiryRule) -> list[messages.NewEvent]:
    """A warning covers twice the warning days. If points expire daily, members are not warned daily."""
    last = run.day + 2 * brand.expiry_warning_days * DAY
    until = dict(ExpiryWarning.objects.filter(user_point__in=accounts).values_list("user_point_id", "until"))
    soon = run.day + brand.expiry_warning_days * DAY
    warned = []
    for account, group in groupby(lots(accounts, brand=brand, rule=rule, day=last), key=lambda lot: lot.account):
        known = until.get(account, date.min)
        new = [lot for lot in group if lot.on > known]
        if new and new[0].on <= soon:
            warned.append(warning(run, account, new))
    rows = [ExpiryWarning(user_point_id=each.payload["user_point_id"], until=last) for each in warned]
    ExpiryWarning.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["user_point"], update_fields=["until"]
    )
    return warned


def warning(run: ExpiryRun, account: int, new: Sequence[PointLot]) -> messages.NewEvent:
    return messages.NewEvent(
        kind="notify",
        arguments={"brand_id": run.brand_id, "user_id": new[0].user_id},
        payload={
            "template": TEMPLATE,
            "points": json_number(sum((lot.points for lot in new), Decimal(0))),
            "expires_on": new[0].on.isoformat(),
            "user_point_id": account,
            "cause": f"expiring:{new[0].on}",
        },
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"expiring:{new[0].on}:{account}"),
    )


def lots(accounts: Sequence[int], *, brand: Brand, rule: ExpiryRule, day: date) -> list[PointLot]:
    """Points of these accounts that are gone by `day`, by account and oldest first."""
    if not accounts:
        return []
    before = local_time.midnight(rule.retained_from(day), brand.zone)
    return [
        PointLot(lot.account, lot.user_id, rule.expired_on(brand.day_at(lot.earned_at)), lot.points)
        for lot in FETCH_LOTS.all(accounts=list(accounts), before=before)
    ]


@dataclass(frozen=True, slots=True)
class NextExpiry:
    """The next points to expire: `points` are gone from the day `on`."""

    points: Decimal
    on: date


def expiring_soon(*, brand: Brand, account: UserPoints, at: datetime) -> NextExpiry | None:
    """The next points of an account to expire within the brand's warning days, or None.

    Points that were given back after their expiry date are gone by the next night: `on` is never before today.
    """
    rule = rule_of(brand)
    if rule is None or not account.points:
        return None
    now = brand.day_at(at)
    expiring = lots([account.pk], brand=brand, rule=rule, day=now + max(brand.expiry_warning_days, 1) * DAY)
    if not expiring:
        return None
    on = max(expiring[0].on, now)
    return NextExpiry(sum((lot.points for lot in expiring if lot.on <= on), Decimal(0)), on)
