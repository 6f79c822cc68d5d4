"""Accrual: how a qualifying action becomes points, progress and a level. Reads as the steps of the spec."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from itertools import groupby
from time import time
from typing import Any

from django.db import transaction

from brands.errors import UserNotFound
from campaigns.progress.advance import ADVANCE, GIVE, ProgressStep, advance, steps
from core import json_values
from core.db import sql
from core.db.sql import Fragment
from core.errors import DomainError
from core.json_values import plain
from core.observability import metrics
from events import leases, messages, publishing
from loyalty import facts
from loyalty.errors import EmailNotConfirmed, LoyaltyDisabled, MemberBlocked, PointsAlreadyClaimed, UserNotEnrolled
from loyalty.facts import AccrualSnapshot
from loyalty.integrations import external_system, webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.points import accounts, ledger, levels, point_limits
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import LedgerEntry
from loyalty.points.levels import Level
from loyalty.points.point_limits import RemainingLimit

ZERO = Decimal(0)
TEMPLATE = "NOTIFY_CAMPAIGN_SUCCESS"

# Everything that accruals write, in one statement that commits by itself: `held` locks the account and the event of
# each item, in one order, and what has no row there is not written. An item is missing if its account or its event has
# changed since the facts were read. Where `=` would do stands `= ANY`, which cannot be hashed: PostgreSQL expects as
# many items as there may be, and would else read all accounts for the few that there are.
WRITE = f"""
    WITH items AS (
        SELECT * FROM jsonb_to_recordset(%(items)s::jsonb)
               AS i (item int, account bigint, version text, event_id bigint, attempts int)
         LIMIT {facts.MOST}
    ), held AS (
        SELECT i.item, a.user_point_id AS account
          FROM items i
          JOIN user_points a ON a.user_point_id = ANY (ARRAY[i.account]) AND a.xmin = ANY (ARRAY[i.version::xid])
          JOIN loyalty_event e ON {leases.LEASE}
         ORDER BY a.user_point_id
           FOR NO KEY UPDATE OF a, e
    ), lines AS ({ledger.LINES}), balance AS ({ledger.BALANCE}), progress AS ({ADVANCE}), rewards AS ({GIVE}),
       finished AS ({leases.ENDED}), following AS ({publishing.INSERT_HELD})
       {{beside}}
    SELECT item FROM held
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class AccrualReason:
    """One reason to credit points: `reason_id` is the auth code of a scan, else a namespaced id."""

    reason_id: str
    note: str


@dataclass(frozen=True, slots=True)
class QualifyingAction:
    """A qualifying action: what it is, what each entry is worth to a customer of a level, and why it counts once.

    `happened_at` decides which campaigns were running; `at` is when the points are credited. What is not `limited`
    is credited in full whatever the brand's daily and monthly limits say. `needs_approval`: the brand's own loyalty
    system has a say, if there is one. `needs_confirmed_email`: a brand may ask for a confirmed address first.
    """

    brand_id: int
    user_id: int
    campaign_type: str
    entries: Sequence[AccrualReason]
    worth: Callable[[Level | None], Decimal]
    happened_at: datetime
    at: datetime
    own_campaign_id: int | None = None
    limited: bool = True
    needs_approval: bool = True
    needs_confirmed_email: bool = True

    @property
    def reason_ids(self) -> list[str]:
        return [entry.reason_id for entry in self.entries]


@dataclass(frozen=True, slots=True)
class AccrualRequest:
    """An action whose event is held. `beside` is told the points about to be awarded, for what its caller writes."""

    delivery: messages.LeasedEvent
    action: QualifyingAction
    beside: Callable[[Decimal, RemainingLimit | None], Fragment] | None = None


@dataclass(frozen=True, slots=True)
class AccrualResult:
    """What an action comes to, in points; `lines` are the ledger's."""

    lines: tuple[LedgerEntry, ...]
    points_earned: Decimal
    new_balance: Decimal
    progress: tuple[ProgressStep, ...]
    own_campaign_id: int | None
    level_updated: bool
    current_level: str
    next_level_threshold: Decimal | None
    allowance: RemainingLimit | None

    @property
    def transaction_id(self) -> int | None:
        return self.lines[-1].number if self.lines else None

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
                "resets_at": json_values.iso(self.allowance.resets_at),
            }
        return answer


def present_progress(progress: ProgressStep) -> dict[str, Any]:
    return {
        "campaign_id": progress.campaign.campaign_id,
        "campaign_name": progress.campaign.campaign_name,
        "progress": progress.progress,
        "target": progress.campaign.target,
        "milestone_achieved": bool(progress.given),
        "next_reward": progress.next_reward,
    }


@dataclass(frozen=True, slots=True)
class PendingAccrual:
    """A claim decided and ready to be written."""

    claim: AccrualRequest
    facts: AccrualSnapshot
    accrual: AccrualResult
    following: Sequence[messages.NewEvent]
    beside: Fragment | None


def accrue(claim: AccrualRequest, *, begin: Callable[[], None] | None = None) -> AccrualResult:
    """Credit an action once and finish its event: all of it commits, or none.

    The facts are read, the steps decided, and everything is written at once if the account is still as it was read;
    else again, under its lock. `begin` takes a lock of the caller's own first. Raises DomainError, Held and
    LeaseLostError; owns the transaction.
    """
    action = claim.action
    found = facts_of(action)
    refuse(action, found)
    if is_asked_about(action, found):  # 6: outside of any transaction
        request_approvals(claim, found)
    if begin is None and is_plain(action, found):
        posting = decided(claim, found)
        if write([posting]):
            return posting.accrual
    with transaction.atomic():
        if begin:
            begin()
        account = found.account or accounts.enrol(user_id=action.user_id, brand_id=action.brand_id, at=action.at)
        accounts.lock(account=account)
        found = facts_of(action)
        refuse(action, found)
        allowance = limit_of(account, found, action) if action.limited else None
        posting = decided(claim, found, allowance)
        if not write([posting]):
            raise messages.LeaseLostError  # not the account, which is locked
        return posting.accrual


def accrue_together(claims: Sequence[AccrualRequest]) -> list[AccrualRequest]:
    """As accrue, for all that are plain at once: one statement reads, one writes, one transaction.

    Returns those that it left alone: refused, overtaken, or in need of a lock. Claims of one account go one after the
    other.
    """
    postings: dict[int, PendingAccrual] = {}
    left, next_ones = [], []
    for claim, found in zip(claims, facts.read([claim.action for claim in claims]), strict=True):
        if found is None or found.account is None or not may_go_together(claim.action, found):
            left.append(claim)
        elif found.account in postings:
            next_ones.append(claim)
        elif is_refused(claim.action, found):
            left.append(claim)
        else:
            postings[found.account] = decided(claim, found)
    for _, alike in groupby(sorted(postings.values(), key=statement_of), key=statement_of):
        several = list(alike)
        written = write(several)
        left += [posting.claim for item, posting in enumerate(several) if item not in written]
    return left + (accrue_together(next_ones) if next_ones else [])


def facts_of(action: QualifyingAction) -> AccrualSnapshot:
    """Raises UserNotFound."""
    [found] = facts.read([action])
    if found is None:
        raise UserNotFound
    return found


def is_plain(action: QualifyingAction, found: AccrualSnapshot) -> bool:
    """Whether it can be written without a lock: there is an account, and no limit to count towards."""
    return found.account is not None and not (action.limited and found.limits_points)


def may_go_together(action: QualifyingAction, found: AccrualSnapshot) -> bool:
    """Whether nothing keeps the others waiting: no lock, and nobody to be asked."""
    return is_plain(action, found) and not is_asked_about(action, found)


def is_asked_about(action: QualifyingAction, found: AccrualSnapshot) -> bool:
    """Whether the brand's own loyalty system has a say."""
    return found.external_system is not None and action.needs_approval


def request_approvals(claim: AccrualRequest, found: AccrualSnapshot) -> None:
    """Returns if the brand's own loyalty system has nothing against it, or the brand wants to go on all the same."""
    action, delivery = claim.action, claim.delivery
    assert found.external_system is not None  # noqa: S101 - who calls this has looked
    reasons = [entry.reason_id for entry in unclaimed(action, found)]
    question = external_system.ApprovalRequest(
        event_id=delivery.event_id,
        kind=delivery.kind,
        brand_id=action.brand_id,
        user_id=action.user_id,
        user_point_id=found.account,
        campaign_type=action.campaign_type,
        reason_ids=reasons,
        points=plain(worth_of(action, found) * len(reasons)),
        balance=plain(found.balance),
        lifetime_points=plain(found.lifetime),
        current_level=found.current_level,
        happened_at=json_values.iso(action.happened_at),
    )
    external_system.request_approval(system_id=found.external_system, delivery=delivery, question=question)


def is_refused(action: QualifyingAction, found: AccrualSnapshot) -> bool:
    try:
        refuse(action, found)
    except (DomainError, messages.Held):
        return True
    return False


def decided(claim: AccrualRequest, found: AccrualSnapshot, allowance: RemainingLimit | None = None) -> PendingAccrual:
    accrual = decide(claim.action, found, allowance)
    following = consequences(claim.delivery, claim.action, accrual, found)  # 11
    beside = claim.beside(accrual.points_earned, allowance) if claim.beside else None
    return PendingAccrual(claim, found, accrual, following, beside)


def statement_of(posting: PendingAccrual) -> str:
    return posting.beside.statement if posting.beside else ""


def write(postings: Sequence[PendingAccrual]) -> set[int]:
    """Write postings that have the same statement beside them; returns the numbers of those written.

    The others' account or event is not as their facts say, and nothing of them was written.
    """
    at = postings[0].claim.action.at
    items = [
        {
            "item": item,
            "account": posting.facts.account,
            "version": posting.facts.version,
            "event_id": posting.claim.delivery.id,
            "attempts": posting.claim.delivery.attempts,
        }
        for item, posting in enumerate(postings)
    ]
    beside = [{"item": item, **posting.beside.parameters} for item, posting in enumerate(postings) if posting.beside]
    parameters = {
        "items": json.dumps(items),
        "at": at,
        **ledger.posting([(posting.accrual.lines, posting.accrual.current_level) for posting in postings]),
        **steps([(posting.claim.action.user_id, posting.accrual.progress) for posting in postings]),
        **leases.endings(
            [(posting.claim.delivery, posting.accrual.answer(), posting.following) for posting in postings], at=at
        ),
        "beside": json_values.ENCODER.encode(beside),
    }
    written = {item for (item,) in sql.rows(writing(statement_of(postings[0])), parameters)}
    publishing.wake_after_commit([message for item in written for message in postings[item].following])
    for item in written:
        tell(postings[item])
    return written


def tell(posting: PendingAccrual) -> None:
    """For whoever watches: how long it took until the points were there."""
    if posting.accrual.lines:
        delivery = posting.claim.delivery
        metrics.credited(kind=delivery.kind, seconds=time() - delivery.time.timestamp())


@cache
def writing(beside: str) -> str:
    """WRITE, with one statement more."""
    return WRITE.format(beside=f", beside AS ({beside})" if beside else "")


def refuse(action: QualifyingAction, found: AccrualSnapshot) -> None:
    """Steps 2, 3 and 5. Raises DomainError, and Held where only the customer's confirmed e-mail address is missing."""
    if not found.loyalty_active:
        raise LoyaltyDisabled
    if found.status == UserPoints.Status.BLOCKED:
        raise MemberBlocked
    if found.account is None and not found.auto_enroll:
        raise UserNotEnrolled
    if not unclaimed(action, found):
        raise PointsAlreadyClaimed
    if found.unconfirmed and action.needs_confirmed_email:
        still_holds = partial(accounts.lock_unconfirmed, user_id=action.user_id)
        raise messages.Held(EmailNotConfirmed(), user_id=action.user_id, still_holds=still_holds)


def unclaimed(action: QualifyingAction, found: AccrualSnapshot) -> list[AccrualReason]:
    return [entry for entry in action.entries if entry.reason_id not in found.claimed]


def worth_of(action: QualifyingAction, found: AccrualSnapshot) -> Decimal:
    """Step 4, for one entry: by the level that the customer holds."""
    return action.worth(levels.held(levels=found.levels, name=found.current_level))


def limit_of(account: int, found: AccrualSnapshot, action: QualifyingAction) -> RemainingLimit | None:
    """The limit that cuts what the action is worth, if one does. Call with the account locked."""
    allowance = point_limits.most_restrictive(
        account=account, zone=found.zone, daily=found.daily_point_limit, monthly=found.monthly_point_limit, at=action.at
    )
    wanted = worth_of(action, found) * len(unclaimed(action, found))
    return allowance if allowance and allowance.left < wanted else None


def decide(action: QualifyingAction, found: AccrualSnapshot, allowance: RemainingLimit | None) -> AccrualResult:
    """Steps 4 and 7 to 10, from the found alone: it reads nothing and writes nothing."""
    shares = share_out(worth=worth_of(action, found), entries=unclaimed(action, found), allowance=allowance)  # 4
    lines = tuple(  # 7: the ledger
        LedgerEntry(number, points, entry.reason_id, entry.note)
        for number, (entry, points) in zip(found.numbers, shares, strict=False)
    )
    awarded = sum((line.points for line in lines), ZERO)
    progress = advance(found.campaigns) if lines else ()  # 8, 9: campaigns, milestones
    lifetime = found.lifetime + awarded
    level = found.current_level
    if lines:  # 10: the level
        level = levels.level_after(levels=found.levels, name=level, lifetime=lifetime)
    following = levels.following(levels=found.levels, lifetime=lifetime)
    return AccrualResult(
        lines=lines,
        points_earned=awarded,
        new_balance=found.balance + awarded,
        progress=progress,
        own_campaign_id=action.own_campaign_id,
        level_updated=level != found.current_level
        and levels.newly_reached(levels=found.levels, name=level, before=found.lifetime, after=lifetime),
        current_level=level,
        next_level_threshold=following.threshold if following else None,
        allowance=allowance,
    )


def share_out(
    *, worth: Decimal, entries: Sequence[AccrualReason], allowance: RemainingLimit | None
) -> list[tuple[AccrualReason, Decimal]]:
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


def consequences(
    delivery: messages.LeasedEvent, action: QualifyingAction, accrual: AccrualResult, found: AccrualSnapshot
) -> list[messages.NewEvent]:
    """Step 11, as events: for wallets, for the notification, and for the points of rewards; each goes its own way."""
    if accrual.transaction_id is None:
        return []
    arguments = {"brand_id": action.brand_id, "user_id": action.user_id}

    def message(kind: str, what: str, payload: dict[str, Any], *, wanted: bool = True) -> messages.NewEvent:
        return messages.NewEvent(
            kind=kind,
            payload={**payload, "cause": str(delivery.event_id)},
            arguments=arguments,
            event_id=delivery.following_id(what),
            wanted=wanted,
        )

    assert found.account is not None  # noqa: S101 - who has a line has an account
    balance = balance_changed(
        brand_id=action.brand_id,
        user_id=action.user_id,
        account=found.account,
        points=accrual.new_balance,
        level=accrual.current_level,
        level_updated=accrual.level_updated,
        cause=str(delivery.event_id),
        wanted=found.has_passes,
        event_id=delivery.following_id("balance-changed"),
    )
    notice = {
        "template": TEMPLATE,
        "points_earned": plain(accrual.points_earned),
        "new_balance": plain(accrual.new_balance),
        "transaction_id": str(accrual.transaction_id),
        "note": action.entries[-1].note,
        "level_updated": accrual.level_updated,
        "current_level": accrual.current_level,
        "campaigns": [present_progress(each) for each in accrual.progress],
        "rewards": [
            {
                "milestone_id": stop.milestone_id,
                "reward_name": stop.reward_name,
                "campaign_name": each.campaign.campaign_name,
            }
            for each in accrual.progress
            for stop in each.given
            if stop.is_thing or not stop.auto_claim
        ],
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
        if stop.auto_claim
    ]
    own = [
        balance,
        message("notify", "notify", notice, wanted=found.sends_notices and is_news(notice)),
        *rewards,
    ]
    return own + announcements(delivery, action, accrual, found) if found.listened else own


def is_news(notice: dict[str, Any]) -> bool:
    """Whether there is anything to tell: a step in a campaign that pays nothing yet is none."""
    return bool(notice["points_earned"] or notice["level_updated"] or notice["rewards"])


def announcements(
    delivery: messages.LeasedEvent, action: QualifyingAction, accrual: AccrualResult, found: AccrualSnapshot
) -> list[messages.NewEvent]:
    """What webhooks that listen are told of a credit."""
    credit = webhook_events.Credit(
        brand_id=action.brand_id,
        user_id=action.user_id,
        points_earned=plain(accrual.points_earned),
        new_balance=plain(accrual.new_balance),
        lifetime_points=plain(found.lifetime + accrual.points_earned),
        transaction_id=str(accrual.transaction_id),
        reason_ids=[line.reason_id for line in accrual.lines],
        note=action.entries[-1].note,
        current_level=accrual.current_level,
        level_updated=accrual.level_updated,
        cause=str(delivery.event_id),
        at=action.at,
    )
    return webhook_events.of_credit(credit, listened=found.listened, ids=delivery.following_id)
