"""Redeems rewards: the points, the stock and the redemption change together."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core.db import sql
from core.errors import IdempotencyKeyReused, raises
from core.json_values import plain
from events import messages, publishing
from loyalty.errors import OutOfStock, RewardNotAvailable, RewardNotFound
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts, ledger
from loyalty.points.balance_events import balance_changed
from loyalty.rewards import codes, rules
from loyalty.rewards.returns import FOLLOWING, ZERO, following_id
from loyalty.rewards.rules import MemberState, RewardTerms

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
           {webhook_events.SUBSCRIBED_TYPES.format(brand="b.id")}
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
    ), line AS ({ledger.REDEEM.format(origin="going")}), balance AS ({ledger.SPEND.format(origin="going")}),
       redemption AS (
        INSERT INTO loyalty_redemption
               (id, brand_id, user_point_id, reward_id, name, cost, balance_after, code, request_key, status,
                created_at, expires_at)
        SELECT %(redemption_id)s::bigint, %(brand_id)s::bigint, account, %(reward_id)s::bigint, %(name)s::text,
               %(cost)s::numeric, %(balance_after)s::numeric, %(code)s::text, %(request_key)s::uuid, 'issued',
               %(at)s::timestamptz, %(expires_at)s::timestamptz
          FROM going
    ), following AS ({publishing.INSERT_BESIDE.format(beside="going")})
    SELECT account FROM going
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class RedemptionRequest:
    """Who wants which reward. `key`: the same member's same key is the same wish, however often it comes."""

    brand_id: int
    user_id: int
    reward_id: int
    key: uuid.UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class RedemptionSnapshot:
    """What one statement read of the member, the reward and what the member did with it before."""

    holder: MemberState
    level: str
    offer: RewardTerms | None
    name: str
    code_days: int | None
    earlier_id: int | None
    redemption_id: int
    has_passes: bool
    listened: frozenset[str]


@raises(RewardNotFound, IdempotencyKeyReused, OutOfStock, *rules.INELIGIBLE)
def redeem(wish: RedemptionRequest) -> Redemption:
    """Take a reward for points: stock, ledger, balance, redemption and events together, or nothing.

    The same wish again finds what it made. Raises RewardNotFound, IdempotencyKeyReused, and what rewards.ineligibility
    tells. Owns the transaction; the account is locked from its beginning, the reward only in its last statement.
    """
    account = accounts.account_of(brand_id=wish.brand_id, user_id=wish.user_id)
    if account is None:
        raise refusal_of_a_stranger(wish)
    with transaction.atomic():
        accounts.lock(account=account.pk)
        facts = read_facts(account.pk, wish)
        if facts.earlier_id is not None:
            return the_same(Redemption.objects.get(pk=facts.earlier_id), wish)
        if facts.offer is None:
            raise RewardNotFound
        if refusal := rules.ineligibility(facts.offer, facts.holder, wish.at):
            raise refusal
        write(account.pk, facts, facts.offer, wish)
        return Redemption.objects.get(pk=facts.redemption_id)


def refusal_of_a_stranger(wish: RedemptionRequest) -> Exception:
    """Of somebody who is no member yet, and so has no points for what always costs some."""
    reward = Reward.objects.filter(pk=wish.reward_id, brand=wish.brand_id).select_related("minimum_level").first()
    if reward is None:
        return RewardNotFound()
    brand = Brand.objects.get(pk=wish.brand_id)
    nobody = MemberState(brand.loyalty_active, blocked=False, balance=ZERO, level_threshold=ZERO, taken=0)
    return rules.ineligibility(offer_of(reward), nobody, wish.at) or RewardNotAvailable()


def offer_of(reward: Reward) -> RewardTerms:
    level = reward.minimum_level
    return RewardTerms(
        cost=reward.cost,
        is_active=reward.is_active,
        valid_from=reward.valid_from,
        valid_until=reward.valid_until,
        stock=reward.stock,
        limit_per_member=reward.limit_per_member,
        level_name=level.name if level else "",
        level_threshold=level.threshold if level else None,
    )


def read_facts(account: int, wish: RedemptionRequest) -> RedemptionSnapshot:
    found = sql.row(FACTS, {"account": account, "reward_id": wish.reward_id, "request_key": wish.key})
    assert found is not None  # noqa: S101 - the account is locked, so it is there
    active, status, balance, level, threshold = found[:5]
    name, cost, is_active, valid_from, valid_until, stock, limit, code_days, needed, needed_threshold = found[5:15]
    taken, earlier_id, redemption_id, has_passes, listened = found[15:]
    offer = RewardTerms(cost, is_active, valid_from, valid_until, stock, limit, needed, needed_threshold)
    return RedemptionSnapshot(
        holder=MemberState(active, status == UserPoints.Status.BLOCKED, balance, threshold, taken),
        level=level,
        offer=offer if name is not None else None,
        name=name,
        code_days=code_days,
        earlier_id=earlier_id,
        redemption_id=redemption_id,
        has_passes=has_passes,
        listened=frozenset(listened),
    )


def the_same(earlier: Redemption, wish: RedemptionRequest) -> Redemption:
    if earlier.reward_id != wish.reward_id:
        raise IdempotencyKeyReused
    return earlier


def write(account: int, facts: RedemptionSnapshot, offer: RewardTerms, wish: RedemptionRequest) -> None:
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
        "code": codes.new(),
        "request_key": wish.key,
        "reason_id": cause,
        "note": _("Redeemed: %(reward)s") % {"reward": facts.name},
        "expires_at": wish.at + timedelta(days=facts.code_days) if facts.code_days else None,
        "at": wish.at,
        **publishing.insertion(messages=following, brand_id=wish.brand_id, at=wish.at),
    }
    if sql.row(WRITE, parameters) is None:
        raise OutOfStock
    publishing.wake_after_commit(following)


def consequences(
    account: int, facts: RedemptionSnapshot, offer: RewardTerms, wish: RedemptionRequest, cause: str
) -> list[messages.NewEvent]:
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
            has_consumer=facts.has_passes,
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
            webhook_events.announcement(
                WebhookType.REWARD_REDEEMED,
                data,
                brand_id=wish.brand_id,
                user_id=wish.user_id,
                event_id=uuid.uuid5(FOLLOWING, f"announce:{cause}"),
                at=wish.at,
            )
        )
    return told
