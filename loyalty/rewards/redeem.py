"""Redeems rewards: points, stock and redemption change in one transaction."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from core.db.statements import query, query_values
from core.errors import IdempotencyKeyReused, raises
from core.json_values import json_number
from events import messages, publishing
from loyalty.errors import OutOfStock, RewardNotAvailable, RewardNotFound
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import TAKEN
from loyalty.rewards import codes, pools, rules
from loyalty.rewards.returns import EVENT_ID_NAMESPACE, ZERO, following_id
from loyalty.rewards.rules import MemberState, RewardTerms


@dataclass(frozen=True, slots=True)
class RedemptionRequest:
    """A member's request for a reward. The member's requests with the same `key` are one request."""

    brand_id: int
    user_id: int
    reward_id: int
    key: uuid.UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class RedemptionSnapshot:
    """What one statement read about the brand, the member, the reward and the member's earlier redemptions."""

    loyalty_active: bool
    status: str
    balance: Decimal
    level: str
    level_threshold: Decimal
    name: str | None
    cost: Decimal
    is_active: bool
    valid_from: datetime | None
    valid_until: datetime | None
    stock: int | None
    uses_pool: bool | None
    limit_per_member: int | None
    code_days: int | None
    needed_level: str
    needed_threshold: Decimal | None
    taken: int
    earlier_id: int | None
    redemption_id: int
    has_passes: bool
    listened: list[str]
    segment_id: int | None
    in_segment: bool

    @property
    def member(self) -> MemberState:
        return MemberState(
            loyalty_active=self.loyalty_active,
            blocked=self.status != UserPoints.Status.ACTIVE,
            balance=self.balance,
            level_threshold=self.level_threshold,
            taken=self.taken,
            segments=frozenset({self.segment_id} if self.segment_id is not None and self.in_segment else ()),
        )

    @property
    def terms(self) -> RewardTerms | None:
        """The reward's terms, or None if the brand has no such reward."""
        if self.name is None:
            return None
        return RewardTerms(
            cost=self.cost,
            is_active=self.is_active,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
            stock=self.stock,
            limit_per_member=self.limit_per_member,
            level_name=self.needed_level,
            level_threshold=self.needed_threshold,
            segment=self.segment_id,
        )


FETCH_SNAPSHOT = query("loyalty/rewards/sql/fetch_redemption_snapshot.sql", returns=RedemptionSnapshot)
WRITE_REDEMPTION = query_values(
    "loyalty/rewards/sql/write_redemption.sql",
    "account",
    insert_events=publishing.insert_events(source_cte="redeemable"),
)


@raises(RewardNotFound, IdempotencyKeyReused, OutOfStock, *rules.INELIGIBLE)
def redeem(request: RedemptionRequest) -> Redemption:
    """Redeem a reward for points: stock, ledger, balance, redemption and events in one transaction.

    The same request again returns the earlier redemption. Raises RewardNotFound, IdempotencyKeyReused and OutOfStock,
    and as rules.ineligibility. Owns the transaction. Locks the account first, the reward in its last statement.
    """
    account = accounts.account_of(brand_id=request.brand_id, user_id=request.user_id)
    if account is None:
        raise error_without_account(request)
    with transaction.atomic():
        accounts.lock(account=account.pk)
        snapshot = read_snapshot(account.pk, request)
        if snapshot.earlier_id is not None:
            earlier = reload(snapshot.earlier_id)
            if earlier.reward_id != request.reward_id:
                raise IdempotencyKeyReused
            return earlier
        terms = snapshot.terms
        if terms is None:
            raise RewardNotFound
        if error := rules.ineligibility(terms, snapshot.member, request.at):
            raise error
        write(account.pk, snapshot, terms, request)
        return reload(snapshot.redemption_id)


def reload(redemption_id: int) -> Redemption:
    """Includes the partner's code that it handed out, if any."""
    return Redemption.objects.select_related("pool_code").get(pk=redemption_id)


def error_without_account(request: RedemptionRequest) -> Exception:
    """The error for a customer who is not enrolled, and so has no points."""
    rows = Reward.objects.filter(pk=request.reward_id, brand=request.brand_id, cost__isnull=False)
    reward = rows.select_related("minimum_level").first()
    if reward is None:
        return RewardNotFound()
    brand = Brand.objects.get(pk=request.brand_id)
    outsider = MemberState(brand.loyalty_active, blocked=False, balance=ZERO, level_threshold=ZERO, taken=0)
    reward.stock = pools.stock_of(reward, at=request.at)
    return rules.ineligibility(reward_terms(reward), outsider, request.at) or RewardNotAvailable()


def price_of(reward: Reward) -> Decimal:
    """The cost of a reward that can be bought. Not called for other rewards."""
    assert reward.cost is not None  # noqa: S101 - `offered` leaves out rewards without a cost
    return reward.cost


def reward_terms(reward: Reward) -> RewardTerms:
    level = reward.minimum_level
    return RewardTerms(
        cost=price_of(reward),
        is_active=reward.is_active,
        valid_from=reward.valid_from,
        valid_until=reward.valid_until,
        stock=reward.stock,
        limit_per_member=reward.limit_per_member,
        level_name=level.name if level else "",
        level_threshold=level.threshold if level else None,
        segment=reward.segment_id,
    )


def read_snapshot(account: int, request: RedemptionRequest) -> RedemptionSnapshot:
    row = FETCH_SNAPSHOT.first(account=account, reward_id=request.reward_id, request_key=request.key, at=request.at)
    assert row is not None  # noqa: S101 - the account is locked, so it exists
    return row


def write(account: int, snapshot: RedemptionSnapshot, terms: RewardTerms, request: RedemptionRequest) -> None:
    """Raises OutOfStock, without writing anything, if others took the last one."""
    balance = snapshot.balance - terms.cost
    cause = f"{TAKEN}{snapshot.redemption_id}"
    following = consequences(account, snapshot, terms, request, cause)
    parameters = {
        "account": account,
        "brand_id": request.brand_id,
        "reward_id": request.reward_id,
        "limited": terms.stock is not None and not snapshot.uses_pool,
        "from_pool": snapshot.uses_pool,
        "redemption_id": snapshot.redemption_id,
        "name": snapshot.name,
        "cost": terms.cost,
        "balance_after": balance,
        "code": codes.new(),
        "request_key": request.key,
        "reason_id": cause,
        "note": gettext_noop("Redeemed: %(reward)s") % {"reward": snapshot.name},
        "expires_at": request.at + timedelta(days=snapshot.code_days) if snapshot.code_days else None,
        "at": request.at,
        **publishing.insertion(messages=following, brand_id=request.brand_id, at=request.at),
    }
    if WRITE_REDEMPTION.first(**parameters) is None:
        raise OutOfStock
    publishing.wake_after_commit(following)


def consequences(
    account: int, snapshot: RedemptionSnapshot, terms: RewardTerms, request: RedemptionRequest, cause: str
) -> list[messages.NewEvent]:
    """Events for wallets, and for subscribed webhooks."""
    balance = snapshot.balance - terms.cost
    events = [
        balance_changed(
            brand_id=request.brand_id,
            user_id=request.user_id,
            account=account,
            points=balance,
            level=snapshot.level,
            cause=cause,
            has_consumer=snapshot.has_passes,
            event_id=following_id(cause),
        )
    ]
    if WebhookType.REWARD_REDEEMED in snapshot.listened:
        data = {
            "redemption_id": snapshot.redemption_id,
            "reward_id": request.reward_id,
            "points": json_number(terms.cost),
            "new_balance": json_number(balance),
        }
        events.append(
            webhook_events.webhook_event(
                WebhookType.REWARD_REDEEMED,
                data,
                brand_id=request.brand_id,
                user_id=request.user_id,
                event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{cause}"),
                at=request.at,
            )
        )
    return events
