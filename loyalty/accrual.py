"""Accrual: how a qualifying action becomes points, progress and a level. Reads as the steps of the spec."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from brands import sql
from brands.refusals import UserNotFound
from campaigns.progress import RUNNING, Progress, Running, advance, parse_running
from loyalty import allowances, events, ledger, levels, members
from loyalty.allowances import Allowance
from loyalty.levels import Level
from loyalty.models import UserPoints
from loyalty.refusals import LoyaltyDisabled, MemberBlocked, PointsAlreadyClaimed, UserNotEnrolled

ZERO = Decimal(0)
TEMPLATE = "NOTIFY_CAMPAIGN_SUCCESS"

# Everything the steps read, in one statement. Claimed reasons are a courtesy: the ledger's constraint decides.
FACTS = f"""
    SELECT b.time_zone, b.loyalty_active, b.auto_enroll, b.daily_point_limit, b.monthly_point_limit,
           m.user_point_id, m.status, coalesce(m.current_level, ''),
           (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text)
                            ORDER BY l.threshold)
              FROM loyalty_brandlevel l WHERE l.brand_id = b.id),
           {RUNNING},
           ARRAY(SELECT t.reason_id FROM loyalty_transaction t
                  WHERE t.user_point_id = m.user_point_id AND t.reason_id = ANY(%(reason_ids)s::text[]))
      FROM brands_brand b
      JOIN brands_user u ON u.id = %(user_id)s::bigint AND u.is_active
      LEFT JOIN user_points m ON m.brand_id = b.id AND m.user_id = u.id
     WHERE b.id = %(brand_id)s::bigint
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class Entry:
    """One reason to credit points: `reason_id` is the auth code of a scan, else a namespaced id."""

    reason_id: str
    note: str


@dataclass(frozen=True, slots=True)
class Action:
    """A qualifying action: what it is, what each entry is worth to a customer of a level, and why it counts once.

    `happened_at` decides which campaigns were running; `at` is when the points are credited. What is not `limited`
    is credited in full whatever the brand's daily and monthly limits say.
    """

    brand_id: int
    user_id: int
    campaign_type: str
    entries: Sequence[Entry]
    worth: Callable[[Level | None], Decimal]
    happened_at: datetime
    at: datetime
    own_campaign_id: int | None = None
    limited: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """The customer's and the brand's state when the accrual began; `account` is a user_point_id."""

    zone: ZoneInfo
    loyalty_active: bool
    auto_enroll: bool
    daily_point_limit: Decimal | None
    monthly_point_limit: Decimal | None
    account: int | None
    status: str | None
    current_level: str
    levels: tuple[Level, ...]
    campaigns: tuple[Running, ...]
    claimed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Accrual:
    """What an action came to, in points."""

    points_earned: Decimal
    new_balance: Decimal
    transaction_id: int | None
    progress: tuple[Progress, ...]
    own_campaign_id: int | None
    level_updated: bool
    current_level: str
    next_level_threshold: Decimal | None
    allowance: Allowance | None

    def answer(self) -> dict[str, Any]:
        """`data` of spec 4.1; also what is stored on the event."""
        answer: dict[str, Any] = {
            "points_earned": plain(self.points_earned),
            "new_balance": plain(self.new_balance),
            "transaction_id": str(self.transaction_id) if self.transaction_id else None,
            "level_updated": self.level_updated,
            "current_level": self.current_level,
            "next_level_threshold": plain(self.next_level_threshold),
        }
        if self.progress:
            lines = [present_progress(each) for each in self.progress]
            own = [line for line in lines if line["campaign_id"] == self.own_campaign_id]
            answer |= {"campaign_progress": (own or lines)[0], "campaigns": lines}
        if self.allowance:
            answer["limit"] = {
                "period": self.allowance.period,
                "max": plain(self.allowance.max),
                "used": plain(self.allowance.used),
                "resets_at": events.iso(self.allowance.resets_at),
            }
        return answer


def plain(number: Decimal | None) -> int | float | None:
    """A JSON number: whole points without a fraction."""
    if number is None:
        return None
    return int(number) if number == number.to_integral_value() else float(number)


def present_progress(progress: Progress) -> dict[str, Any]:
    return {
        "campaign_id": progress.campaign.campaign_id,
        "campaign_name": progress.campaign.campaign_name,
        "progress": progress.progress,
        "target": progress.campaign.target,
        "milestone_achieved": bool(progress.given),
        "next_reward": progress.next_reward,
    }


def accrue(
    *,
    delivery: events.Delivery,
    action: Action,
    begin: Callable[[], None] | None = None,
    keep: Callable[[Decimal, Allowance | None], None] | None = None,
) -> Accrual:
    """Credit an action once and finish its event: all of it commits, or none.

    Inside the transaction `begin` comes before anything is locked, for a lock of the caller's own; `keep` is told
    the points about to be awarded, for what the caller must write with them. Raises Refused; owns the transaction.
    The steps are those of spec section 1.
    """
    facts = read_facts(action)  # 2, 3: the user, the brand, the level
    refuse_if_closed(facts)  # 3: loyalty is active, the member welcome
    worth = action.worth(levels.held(levels=facts.levels, name=facts.current_level))  # 4: points
    entries = unclaimed(action, facts)  # 5: duplicate check
    # 6: an external loyalty system would be asked here, outside the transaction; none is configured.
    with transaction.atomic():
        if begin:
            begin()
        account = facts.account or members.enrol(user_id=action.user_id, brand_id=action.brand_id, at=action.at)
        allowance = limit_of(account, facts, worth * len(entries), action.at) if action.limited else None
        shares = share_out(worth=worth, entries=entries, allowance=allowance)
        if keep:
            keep(sum((points for _entry, points in shares), ZERO), allowance)
        accrual = credit_and_advance(action, facts, account, shares, allowance)  # 7, 8, 9, 10
        events.finish(
            delivery,
            outcome=accrual.answer(),
            following=consequences(delivery, action, accrual, account),  # 11
            at=action.at,
        )
    return accrual


def read_facts(action: Action) -> Facts:
    """Raises UserNotFound."""
    parameters = {
        "brand_id": action.brand_id,
        "user_id": action.user_id,
        "campaign_type": action.campaign_type,
        "reason_ids": [entry.reason_id for entry in action.entries],
        "at": action.happened_at,
    }
    found = sql.row(FACTS, parameters)
    if found is None:
        raise UserNotFound
    zone, active, auto, daily, monthly, account, status, level, levels_found, campaigns_found, claimed = found
    return Facts(
        zone=ZoneInfo(zone),
        loyalty_active=active,
        auto_enroll=auto,
        daily_point_limit=daily,
        monthly_point_limit=monthly,
        account=account,
        status=status,
        current_level=level,
        levels=tuple(
            Level(name, Decimal(threshold), kind, Decimal(value)) for name, threshold, kind, value in levels_found or ()
        ),
        campaigns=tuple(parse_running(campaigns_found)),
        claimed=frozenset(claimed),
    )


def refuse_if_closed(facts: Facts) -> None:
    if not facts.loyalty_active:
        raise LoyaltyDisabled
    if facts.status == UserPoints.Status.BLOCKED:
        raise MemberBlocked
    if facts.account is None and not facts.auto_enroll:
        raise UserNotEnrolled


def unclaimed(action: Action, facts: Facts) -> list[Entry]:
    """Raises PointsAlreadyClaimed when nothing is left to credit."""
    left = [entry for entry in action.entries if entry.reason_id not in facts.claimed]
    if not left:
        raise PointsAlreadyClaimed
    return left


def limit_of(account: int, facts: Facts, wanted: Decimal, at: datetime) -> Allowance | None:
    """The limit that cuts `wanted` points, if one does."""
    allowance = allowances.tightest(
        account=account, zone=facts.zone, daily=facts.daily_point_limit, monthly=facts.monthly_point_limit, at=at
    )
    return allowance if allowance and allowance.left < wanted else None


def share_out(*, worth: Decimal, entries: Sequence[Entry], allowance: Allowance | None) -> list[tuple[Entry, Decimal]]:
    """Each entry with its points. What a limit leaves nothing for gets no line, so it can be claimed later."""
    if allowance is None:
        return [(entry, worth) for entry in entries]
    shares = []
    left = allowance.left
    for entry in entries:
        if left:
            shares.append((entry, min(worth, left)))
            left -= shares[-1][1]
    return shares


def credit_and_advance(
    action: Action,
    facts: Facts,
    account: int,
    shares: Sequence[tuple[Entry, Decimal]],
    allowance: Allowance | None,
) -> Accrual:
    """Steps 7 to 10, under the account's lock."""
    if not shares:
        return nothing_left(action, facts, account, allowance)
    lines = credit_each(account, shares, action.at)
    awarded = sum((points for points, _line in lines), ZERO)
    last = lines[-1][1]
    progress = advance(user_id=action.user_id, campaigns=facts.campaigns, at=action.at)
    level, updated = check_level(facts, last, awarded, account, action.at)
    following = levels.following(levels=facts.levels, lifetime=last.lifetime)
    return Accrual(
        points_earned=awarded,
        new_balance=last.balance,
        transaction_id=last.loyalty_transaction_id,
        progress=tuple(progress),
        own_campaign_id=action.own_campaign_id,
        level_updated=updated,
        current_level=level,
        next_level_threshold=following.threshold if following else None,
        allowance=allowance,
    )


def credit_each(
    account: int, shares: Sequence[tuple[Entry, Decimal]], at: datetime
) -> list[tuple[Decimal, ledger.Credit]]:
    """One ledger line per entry. Raises PointsAlreadyClaimed if every one was claimed in the meantime."""
    lines = []
    for entry, points in shares:
        try:
            line = ledger.credit(account=account, points=points, reason_id=entry.reason_id, note=entry.note, at=at)
        except PointsAlreadyClaimed:
            continue
        lines.append((points, line))
    if not lines:
        raise PointsAlreadyClaimed
    return lines


def nothing_left(action: Action, facts: Facts, account: int, allowance: Allowance | None) -> Accrual:
    held = UserPoints.objects.get(pk=account)
    following = levels.following(levels=facts.levels, lifetime=held.points_earned)
    return Accrual(
        points_earned=ZERO,
        new_balance=held.points,
        transaction_id=None,
        progress=(),
        own_campaign_id=action.own_campaign_id,
        level_updated=False,
        current_level=held.current_level,
        next_level_threshold=following.threshold if following else None,
        allowance=allowance,
    )


def check_level(facts: Facts, credit: ledger.Credit, awarded: Decimal, account: int, at: datetime) -> tuple[str, bool]:
    """The level after the credit, and whether the credit is what took the customer there. Levels never go down."""
    top = levels.reached(levels=facts.levels, lifetime=credit.lifetime)
    now = next((level for level in facts.levels if level.name == credit.current_level), None)
    if top is None or (now is not None and top.threshold <= now.threshold):
        return credit.current_level, False
    ledger.promote(account=account, level=top.name, at=at)
    return top.name, credit.lifetime - awarded < top.threshold


def consequences(delivery: events.Delivery, action: Action, accrual: Accrual, account: int) -> list[events.Message]:
    """Step 11, as events: for wallets, for the notification, and for the points of rewards; each goes its own way."""
    if accrual.transaction_id is None:
        return []
    arguments = {"brand_id": action.brand_id, "user_id": action.user_id}

    def message(kind: str, what: str, payload: dict[str, Any]) -> events.Message:
        return events.Message(
            kind=kind,
            payload={**payload, "cause": str(delivery.event_id)},
            arguments=arguments,
            event_id=delivery.following_id(what),
        )

    balance = {
        "user_point_id": account,
        "points": plain(accrual.new_balance),
        "current_level": accrual.current_level,
        "level_updated": accrual.level_updated,
    }
    notice = {
        "template": TEMPLATE,
        "points_earned": plain(accrual.points_earned),
        "new_balance": plain(accrual.new_balance),
        "transaction_id": str(accrual.transaction_id),
        "note": action.entries[-1].note,
        "level_updated": accrual.level_updated,
        "current_level": accrual.current_level,
        "campaigns": [present_progress(each) for each in accrual.progress],
    }
    rewards = [
        message(
            "reward-claimed",
            f"reward-claimed:{stop.milestone_id}",
            {
                "type": "reward",
                "milestone_id": stop.milestone_id,
                "reward_name": stop.reward_name,
                "points": str(stop.reward_points),
            },
        )
        for each in accrual.progress
        for stop in each.given
        if stop.auto_claim and stop.reward_points
    ]
    return [message("balance-changed", "balance-changed", balance), message("notify", "notify", notice), *rewards]
