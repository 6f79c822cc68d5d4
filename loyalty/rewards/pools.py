"""Pools: codes that partners made, such as vouchers, which rewards hand out instead of codes for the brand's own till.

A reward's stock is what its pool has left. A code is taken in the statement that redeems (write_redemption.sql), once.
It stays with that redemption for good: when staff cancel it the points come back, and the code, which the member has
seen, does not. For the same reason a member cannot give such a reward back.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Count
from django.utils.crypto import salted_hmac

from core.db import row_guard
from loyalty.models.rewards import PoolCode, Redemption, Reward

SALT = "loyalty.rewards.pools"
MAX_ENDING = 4  # characters of a code that staff see
LOW = 10  # codes left, and fewer: staff are warned


def digest(code: str) -> str:
    """By which a code is found that nobody can read."""
    return salted_hmac(SALT, code, algorithm="sha256").hexdigest()


def ending(code: str) -> str:
    """Enough to recognise a code by, and never more than a third of it."""
    length = min(MAX_ENDING, len(code) // 3)
    return code[-length:] if length else ""


def left(rewards: Iterable[Reward], *, at: datetime) -> dict[int, int]:
    """How many codes each of these rewards could still hand out; of those that have a pool."""
    ids = [reward.pk for reward in rewards if reward.uses_pool]
    if not ids:
        return {}
    with row_guard.brand_wide("how many codes are left is told to customers, and no code"):
        counted = PoolCode.objects.available(at).filter(reward__in=ids).order_by().values_list("reward")
        return dict.fromkeys(ids, 0) | dict(counted.annotate(Count("pk")))


def stock_of(reward: Reward, *, at: datetime) -> int | None:
    """How many are left; None: as many as are asked for."""
    return left([reward], at=at)[reward.pk] if reward.uses_pool else reward.stock


def code_of(redemption: Redemption) -> str | None:
    """The partner's code that it handed out. The redemption's own code is nobody's then."""
    result: PoolCode | None = getattr(redemption, "pool_code", None)
    return result.code if result else None


def add(codes: Sequence[PoolCode]) -> None:
    """Store new codes. Call in a transaction."""
    PoolCode.objects.bulk_create(codes, batch_size=1_000)
