"""Redemptions: the only code that writes Redemption, and that takes rewards from stock or puts them back."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext as _

from brands import audit, sql
from brands.audit import Deed, Row
from brands.models import Brand, User
from brands.refusals import Invalid, NotFound
from campaigns import progress
from campaigns.models import Milestone, RewardClaim
from loyalty import events, ledger, members, redemption_codes, rewards, webhooks
from loyalty.balances import balance_changed
from loyalty.models import Redemption, Reward, UserPoints, WalletPass, WebhookType
from loyalty.points import plain
from loyalty.refusals import (
    IdempotencyKeyReused,
    LoyaltyDisabled,
    MemberBlocked,
    OutOfStock,
    RedemptionCancelled,
    RedemptionCodeUnknown,
    RedemptionExpired,
    RedemptionUsed,
    RewardNotAvailable,
    RewardNotFound,
    UndoNotPossible,
)
from loyalty.rewards import Holder, Offer

ZERO = Decimal(0)
# Any constant UUID: a name space of its own for what follows from redemptions and claims.
FOLLOWING = uuid.UUID("5b0c6a0e-6d0b-4d0e-9a55-2f3f7f1c9c41")
# A thing that was won has no price that could go stale: its code stays good.
WON_THINGS_EXPIRE = None
# For so long the customer may give back what they took by mistake.
UNDO_MINUTES = 5

# Everything that decides about a redemption, and whom it is told. Read after the account is locked, so that whatever
# the member did at the same time is seen.
FACTS = f"""
    SELECT b.loyalty_active, m.status, m.points, coalesce(m.current_level, ''),
           coalesce(held.threshold, lowest.threshold, 0),
           r.name, r.cost, r.is_active, r.valid_from, r.valid_until, r.stock, r.limit_per_member, r.code_days,
           coalesce(needed.name, ''), needed.threshold,
           (SELECT count(*) FROM loyalty_redemption t
             WHERE t.user_point_id = m.user_point_id AND t.reward_id = r.id AND t.status <> 'cancelled'),
           (SELECT t.id FROM loyalty_redemption t
             WHERE t.user_point_id = m.user_point_id AND t.request_key = %(request_key)s::uuid),
           nextval('loyalty_redemption_id_seq'),
           EXISTS (SELECT 1 FROM loyalty_walletpass w WHERE w.account_id = m.user_point_id),
           {webhooks.LISTENED.format(brand="b.id")}
      FROM user_points m
      JOIN brands_brand b ON b.id = m.brand_id
      LEFT JOIN loyalty_reward r ON r.id = %(reward_id)s::bigint AND r.brand_id = b.id
      LEFT JOIN loyalty_brandlevel needed ON needed.id = r.minimum_level_id
      LEFT JOIN loyalty_brandlevel held ON held.brand_id = b.id AND held.name = m.current_level
      LEFT JOIN LATERAL (SELECT l.threshold FROM loyalty_brandlevel l WHERE l.brand_id = b.id
                          ORDER BY l.threshold LIMIT 1) lowest ON true
     WHERE m.user_point_id = %(account)s::bigint
"""  # noqa: S608 - built from constants

# Stock, ledger, balance, redemption and events: all of it hangs on `going`, which is empty where nothing was left.
WRITE = f"""
    WITH taken AS (
        UPDATE loyalty_reward SET stock = stock - 1
         WHERE %(limited)s::boolean AND id = %(reward_id)s::bigint AND stock > 0
        RETURNING id
    ), going AS (
        SELECT %(account)s::bigint AS account WHERE NOT %(limited)s::boolean OR EXISTS (SELECT 1 FROM taken)
    ), line AS ({ledger.SPENT.format(origin="going")}), balance AS ({ledger.SPEND.format(origin="going")}),
       redemption AS (
        INSERT INTO loyalty_redemption
               (id, brand_id, user_point_id, reward_id, name, cost, balance_after, code, request_key, status,
                created_at, expires_at)
        SELECT %(redemption_id)s::bigint, %(brand_id)s::bigint, account, %(reward_id)s::bigint, %(name)s::text,
               %(cost)s::numeric, %(balance_after)s::numeric, %(code)s::text, %(request_key)s::uuid, 'issued',
               %(at)s::timestamptz, %(expires_at)s::timestamptz
          FROM going
    ), following AS ({events.INSERT_BESIDE.format(beside="going")})
    SELECT account FROM going
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class Wish:
    """Who wants which reward. `key`: the same member's same key is the same wish, however often it comes."""

    brand_id: int
    user_id: int
    reward_id: int
    key: uuid.UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class Facts:
    """What one statement read of the member, the reward and what the member did with it before."""

    holder: Holder
    level: str
    offer: Offer | None
    name: str
    code_days: int | None
    earlier_id: int | None
    redemption_id: int
    has_passes: bool
    listened: frozenset[str]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A milestone's reward that is the customer's: points on their way, or a thing with its code."""

    milestone: Milestone
    redemption: Redemption | None


@dataclass(frozen=True, slots=True)
class Undone:
    """A redemption that the customer gave back, and the balance in points after it."""

    redemption: Redemption
    balance: Decimal


def redeem(wish: Wish) -> Redemption:
    """Take a reward for points: stock, ledger, balance, redemption and events together, or nothing.

    The same wish again finds what it made. Raises RewardNotFound, IdempotencyKeyReused, and what rewards.obstacle
    tells. Owns the transaction; the account is locked from its beginning, the reward only in its last statement.
    """
    account = members.account_of(brand_id=wish.brand_id, user_id=wish.user_id)
    if account is None:
        raise refusal_of_a_stranger(wish)
    with transaction.atomic():
        members.lock(account=account.pk)
        facts = read_facts(account.pk, wish)
        if facts.earlier_id is not None:
            return the_same(Redemption.objects.get(pk=facts.earlier_id), wish)
        if facts.offer is None:
            raise RewardNotFound
        if refusal := rewards.obstacle(facts.offer, facts.holder, wish.at):
            raise refusal
        write(account.pk, facts, facts.offer, wish)
        return Redemption.objects.get(pk=facts.redemption_id)


def refusal_of_a_stranger(wish: Wish) -> Exception:
    """Of somebody who is no member yet, and so has no points for what always costs some."""
    reward = Reward.objects.filter(pk=wish.reward_id, brand=wish.brand_id).select_related("minimum_level").first()
    if reward is None:
        return RewardNotFound()
    brand = Brand.objects.get(pk=wish.brand_id)
    nobody = Holder(brand.loyalty_active, blocked=False, balance=ZERO, level_threshold=ZERO, taken=0)
    return rewards.obstacle(offer_of(reward), nobody, wish.at) or RewardNotAvailable()


def offer_of(reward: Reward) -> Offer:
    level = reward.minimum_level
    return Offer(
        cost=reward.cost,
        is_active=reward.is_active,
        valid_from=reward.valid_from,
        valid_until=reward.valid_until,
        stock=reward.stock,
        limit_per_member=reward.limit_per_member,
        level_name=level.name if level else "",
        level_threshold=level.threshold if level else None,
    )


def read_facts(account: int, wish: Wish) -> Facts:
    found = sql.row(FACTS, {"account": account, "reward_id": wish.reward_id, "request_key": wish.key})
    assert found is not None  # noqa: S101 - the account is locked, so it is there
    active, status, balance, level, threshold = found[:5]
    name, cost, is_active, valid_from, valid_until, stock, limit, code_days, needed, needed_threshold = found[5:15]
    taken, earlier_id, redemption_id, has_passes, listened = found[15:]
    offer = Offer(cost, is_active, valid_from, valid_until, stock, limit, needed, needed_threshold)
    return Facts(
        holder=Holder(active, status == UserPoints.Status.BLOCKED, balance, threshold, taken),
        level=level,
        offer=offer if name is not None else None,
        name=name,
        code_days=code_days,
        earlier_id=earlier_id,
        redemption_id=redemption_id,
        has_passes=has_passes,
        listened=frozenset(listened),
    )


def the_same(earlier: Redemption, wish: Wish) -> Redemption:
    if earlier.reward_id != wish.reward_id:
        raise IdempotencyKeyReused
    return earlier


def write(account: int, facts: Facts, offer: Offer, wish: Wish) -> None:
    """Raises OutOfStock where others were faster; nothing is written then."""
    balance = facts.holder.balance - offer.cost
    cause = f"redeem:{facts.redemption_id}"
    following = consequences(account, facts, offer, wish, cause)
    parameters = {
        "account": account,
        "brand_id": wish.brand_id,
        "reward_id": wish.reward_id,
        "limited": offer.stock is not None,
        "redemption_id": facts.redemption_id,
        "name": facts.name,
        "cost": offer.cost,
        "balance_after": balance,
        "code": redemption_codes.new(),
        "request_key": wish.key,
        "reason_id": cause,
        "note": _("Redeemed: %(reward)s") % {"reward": facts.name},
        "expires_at": wish.at + timedelta(days=facts.code_days) if facts.code_days else None,
        "at": wish.at,
        **events.insertion(messages=following, brand_id=wish.brand_id, at=wish.at),
    }
    if sql.row(WRITE, parameters) is None:
        raise OutOfStock
    events.wake_after_commit(following)


def consequences(account: int, facts: Facts, offer: Offer, wish: Wish, cause: str) -> list[events.Message]:
    """For wallets, and for the webhooks that listen."""
    balance = facts.holder.balance - offer.cost
    told = [
        balance_changed(
            brand_id=wish.brand_id,
            user_id=wish.user_id,
            account=account,
            points=balance,
            level=facts.level,
            cause=cause,
            wanted=facts.has_passes,
            event_id=following_id(cause),
        )
    ]
    if WebhookType.REWARD_REDEEMED in facts.listened:
        data = {
            "redemption_id": facts.redemption_id,
            "reward_id": wish.reward_id,
            "points": plain(offer.cost),
            "new_balance": plain(balance),
        }
        told.append(
            webhooks.announcement(
                WebhookType.REWARD_REDEEMED,
                data,
                brand_id=wish.brand_id,
                user_id=wish.user_id,
                event_id=uuid.uuid5(FOLLOWING, f"announce:{cause}"),
                at=wish.at,
            )
        )
    return told


def following_id(cause: str) -> uuid.UUID:
    """Of what wallets hear, once for each cause."""
    return uuid.uuid5(FOLLOWING, f"balance-changed:{cause}")


# --- Rewards of milestones -------------------------------------------------------------------------------------------


def claim(*, brand_id: int, user_id: int, milestone_id: int, at: datetime) -> Claimed:
    """Take a milestone's reward that waits for it; once: again, it tells what is the customer's already.

    Points go the way of all points, as a `reward-claimed` event; a thing gets a code for the till. Raises
    RewardNotFound, RewardNotAvailable, MemberBlocked, LoyaltyDisabled. Owns the transaction.
    """
    milestone = Milestone.objects.filter(pk=milestone_id, campaign__brand=brand_id).first()
    if milestone is None:
        raise RewardNotFound
    with transaction.atomic():
        account = reaching_member(brand_id, user_id)
        if progress.claim(milestone_id=milestone_id, user_id=user_id, at=at):
            if milestone.reward_points:
                pay(milestone, brand_id, user_id, at)
            else:
                hand_out(milestone, account, at)
        elif not RewardClaim.objects.filter(milestone=milestone, user=user_id).exists():
            raise RewardNotAvailable(_("This milestone is not reached yet."))
        return Claimed(milestone, redemption_of(milestone, account))


def grant(delivery: events.Delivery, *, at: datetime) -> None:
    """The code of a thing that came by itself, once; finishes its event. Owns the transaction.

    Raises LoyaltyDisabled, MemberBlocked and LeaseLost.
    """
    milestone = Milestone.objects.get(pk=delivery.payload["milestone_id"], campaign__brand=delivery.brand_id)
    with transaction.atomic():
        account = reaching_member(delivery.brand_id, delivery.arguments["user_id"])
        if redemption_of(milestone, account) is None:
            hand_out(milestone, account, at)
        events.finish(delivery)


def redemption_of(milestone: Milestone, account: UserPoints) -> Redemption | None:
    return Redemption.objects.filter(user_point=account, milestone=milestone).first()


def reaching_member(brand_id: int, user_id: int) -> UserPoints:
    """The customer's account, locked. Raises Refused where it cannot be given anything."""
    mine = UserPoints.objects.filter(brand_id=brand_id, user_id=user_id).select_related("brand")
    account = mine.select_for_update(of=("self",), no_key=True).first()
    if account is None:
        raise RewardNotAvailable(_("This milestone is not reached yet."))
    if not account.brand.loyalty_active:
        raise LoyaltyDisabled
    if account.status == UserPoints.Status.BLOCKED:
        raise MemberBlocked
    return account


def pay(milestone: Milestone, brand_id: int, user_id: int, at: datetime) -> None:
    message = events.Message(
        kind="reward-claimed",
        arguments={"brand_id": brand_id, "user_id": user_id},
        payload={
            "type": "reward",
            "milestone_id": milestone.pk,
            "reward_name": milestone.reward_name,
            "points": str(milestone.reward_points),
            "cause": f"claim:{milestone.pk}",
        },
        event_id=uuid.uuid5(FOLLOWING, f"claim:{milestone.pk}:{user_id}"),
    )
    events.publish(messages=[message], brand_id=brand_id, at=at)


def hand_out(milestone: Milestone, account: UserPoints, at: datetime) -> None:
    Redemption.objects.create(
        brand_id=account.brand_id,
        user_point=account,
        milestone=milestone,
        name=milestone.reward_name,
        cost=ZERO,
        balance_after=account.points,
        code=redemption_codes.new(),
        request_key=uuid.uuid5(FOLLOWING, f"claim:{milestone.pk}"),
        created_at=at,
        expires_at=WON_THINGS_EXPIRE,
    )


# --- At the till -----------------------------------------------------------------------------------------------------


def find(*, brand_ids: Any, text: str) -> Redemption:
    """The redemption of a code that somebody typed or scanned. Raises RedemptionCodeUnknown.

    `brand_ids`: where to look; None looks everywhere.
    """
    code = redemption_codes.read(text)
    rows = Redemption.objects.select_related("user_point__user", "brand", "used_by")
    if brand_ids is not None:
        rows = rows.filter(brand__in=brand_ids)
    found = rows.filter(code=code).first() if code else None
    if found is None:
        raise RedemptionCodeUnknown
    return found


def use(
    *, redemption: Redemption, at: datetime, by: User | None = None, key_id: int | None = None, request: uuid.UUID
) -> Redemption:
    """Mark a code used, exactly once; the same `request` again is told the same.

    Raises RedemptionUsed, RedemptionExpired, RedemptionCancelled, MemberBlocked.
    """
    # Exists, not a join: Django would look for the row in a subquery then, which is not asked again after a wait.
    active = Exists(UserPoints.objects.filter(pk=OuterRef("user_point"), status=UserPoints.Status.ACTIVE))
    good = active & (Q(expires_at__isnull=True) | Q(expires_at__gt=at))
    fresh = Redemption.objects.filter(good, pk=redemption.pk, status=Redemption.Status.ISSUED)
    taken = fresh.update(
        status=Redemption.Status.USED, used_at=at, used_by=by, used_key_id=key_id, used_request=request
    )
    redemption.refresh_from_db()
    if not taken and redemption.used_request != request:
        raise worthless(redemption, at)
    return redemption


def state_of(redemption: Redemption, at: datetime) -> str:
    """good, used, expired, cancelled, or blocked: good again once its member is let in."""
    if redemption.status != Redemption.Status.ISSUED:
        return redemption.status
    if redemption.expires_at is not None and redemption.expires_at <= at:
        return "expired"
    return "blocked" if redemption.user_point.status == UserPoints.Status.BLOCKED else "good"


def worthless(redemption: Redemption, at: datetime) -> Exception:
    """Why a code that is not good is none."""
    if redemption.status == Redemption.Status.USED and redemption.used_at:
        return RedemptionUsed(details={"used_at": events.iso(redemption.used_at)})
    if redemption.status == Redemption.Status.CANCELLED:
        return RedemptionCancelled()
    if state_of(redemption, at) == "blocked":
        return MemberBlocked()
    return RedemptionExpired(details={"expired_at": events.iso(redemption.expires_at)} if redemption.expires_at else {})


def undo_since(at: datetime) -> datetime:
    return at - timedelta(minutes=settings.REDEMPTION_UNDO_MINUTES)


def may_take_back(redemption: Redemption, *, at: datetime) -> bool:
    """Whether its use is so recent that it may be taken back."""
    used_at = redemption.used_at
    return redemption.status == Redemption.Status.USED and used_at is not None and used_at > undo_since(at)


def too_late() -> Invalid:
    return Invalid(_("It is not used, or was used too long ago to take that back."))


def take_back(*, redemption: Redemption, deed: Deed) -> None:
    """Make a used code good again, within settings.REDEMPTION_UNDO_MINUTES of its use.

    Raises Invalid without a reason, and where it is too late or not used. Owns the transaction.
    """
    require_reason(deed)
    with transaction.atomic():
        recent = Redemption.objects.filter(
            pk=redemption.pk,
            status=Redemption.Status.USED,
            used_at__gt=undo_since(deed.at),
            used_request=redemption.used_request,
        )
        if not recent.update(
            status=Redemption.Status.ISSUED, used_at=None, used_by=None, used_key=None, used_request=None
        ):
            raise too_late()
        changes = {"status": (Redemption.Status.USED.value, Redemption.Status.ISSUED.value)}
        note(redemption, _("Use taken back"), changes, deed)


def cancel(*, redemption: Redemption, deed: Deed) -> None:
    """Cancel an unused redemption: its points go back to the balance, the reward into stock, the code is worth nothing.

    Raises Invalid without a reason and where it is not unused. Owns the transaction.
    """
    require_reason(deed)
    with transaction.atomic():
        account = UserPoints.objects.select_for_update(no_key=True).get(pk=redemption.user_point_id)
        if not reverse(redemption, account, deed.at):
            raise Invalid(_("Only a code that was not used can be cancelled."))
        changes = {"status": (Redemption.Status.ISSUED.value, Redemption.Status.CANCELLED.value)}
        note(redemption, _("Redemption cancelled"), changes, deed)


def undo(*, brand_id: int, user_id: int, redemption_id: int, at: datetime) -> Undone:
    """Give back a reward that the customer took less than UNDO_MINUTES ago and did not use; asked again, the same.

    Raises NotFound, MemberBlocked, RedemptionUsed and UndoNotPossible. Owns the transaction.
    """
    mine = Redemption.objects.filter(user_point__user_id=user_id, user_point__brand_id=brand_id)
    if not mine.filter(pk=redemption_id).exists():
        raise NotFound
    with transaction.atomic():
        account = UserPoints.objects.select_for_update(no_key=True).get(user_id=user_id, brand_id=brand_id)
        if account.status == UserPoints.Status.BLOCKED:
            raise MemberBlocked
        redemption = mine.get(pk=redemption_id)
        if redemption.status != Redemption.Status.CANCELLED:
            if not may_undo(redemption, at) or not reverse(redemption, account, at):
                raise why_not_undone(redemption)
            account.refresh_from_db()
        return Undone(redemption, account.points)


def undo_until(redemption: Redemption, at: datetime) -> datetime | None:
    """Until when the customer may give it back; None if they cannot."""
    end = redemption.created_at + timedelta(minutes=UNDO_MINUTES)
    return end if redemption.cost and redemption.status == Redemption.Status.ISSUED and at < end else None


def may_undo(redemption: Redemption, at: datetime) -> bool:
    return undo_until(redemption, at) is not None


def why_not_undone(redemption: Redemption) -> Exception:
    redemption.refresh_from_db()
    if redemption.used_at:
        return RedemptionUsed(details={"used_at": events.iso(redemption.used_at)})
    return UndoNotPossible()


def reverse(redemption: Redemption, account: UserPoints, at: datetime) -> bool:
    """Cancel an unused redemption, with its points and stock. False: it is not unused. Call with the account locked."""
    unused = Redemption.objects.filter(pk=redemption.pk, status=Redemption.Status.ISSUED)
    if not unused.update(status=Redemption.Status.CANCELLED, cancelled_at=at):
        return False
    if redemption.cost:
        return_points(redemption, account, at)
    Reward.objects.filter(redemptions=redemption, stock__isnull=False).update(stock=F("stock") + 1)
    return True


def return_points(redemption: Redemption, account: UserPoints, at: datetime) -> None:
    words = _("Cancelled: %(reward)s") % {"reward": redemption.name}
    line = ledger.give_back(account=account.pk, points=redemption.cost, redemption_id=redemption.pk, note=words, at=at)
    cause = f"{ledger.RETURNED}{redemption.pk}"
    message = balance_changed(
        brand_id=account.brand_id,
        user_id=account.user_id,
        account=account.pk,
        points=line.balance,
        level=line.current_level,
        cause=cause,
        wanted=WalletPass.objects.filter(account=account).exists(),
        event_id=following_id(cause),
    )
    events.publish(messages=[message], brand_id=account.brand_id, at=at)


def require_reason(deed: Deed) -> None:
    if not deed.reason.strip():
        raise Invalid(_("Say why."), details={"field": "reason"})


def note(redemption: Redemption, action: str, changes: Mapping[str, tuple[Any, Any]], deed: Deed) -> None:
    audit.record(deed=deed, action=action, rows=[Row(redemption, redemption.brand_id, changes)])
