"""Pools: partner codes, such as vouchers, which rewards hand out instead of codes for the brand's own till.

A reward's stock is what its pool has left. The statement that redeems takes a code (write_redemption.sql), once. The
code stays with that redemption: when staff cancel it, the points are returned, but not the code, which the member has
seen. So a member cannot undo the redemption of such a reward.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Count
from django.utils.crypto import salted_hmac

from core.db import row_guard
from core.texts import DOTS
from loyalty.models.rewards import PoolCode, Redemption, Reward

SALT = "loyalty.rewards.pools"
MAX_ENDING = 4  # characters of a code that staff can see
LOW = 10  # staff are warned at this number of codes


def digest(code: str) -> str:
    """Finds a code that is stored unreadable."""
    return salted_hmac(SALT, code, algorithm="sha256").hexdigest()


def ending(code: str) -> str:
    """Enough to recognise a code, but at most a third of it."""
    length = min(MAX_ENDING, len(code) // 3)
    return code[-length:] if length else ""


def masked(code: str) -> str:
    return f"{DOTS}{ending(code)}"


def left(rewards: Iterable[Reward], *, at: datetime) -> dict[int, int]:
    """How many codes each of these rewards can still hand out. Only for rewards with a pool."""
    ids = [reward.pk for reward in rewards if reward.uses_pool]
    if not ids:
        return {}
    with row_guard.brand_wide("how many codes are left is told to customers, and no code"):
        counted = PoolCode.objects.available(at).filter(reward__in=ids).order_by().values_list("reward")
        return dict.fromkeys(ids, 0) | dict(counted.annotate(Count("pk")))


def stock_of(reward: Reward, *, at: datetime) -> int | None:
    """How many are left, or None if unlimited."""
    return left([reward], at=at)[reward.pk] if reward.uses_pool else reward.stock


def code_of(redemption: Redemption) -> str | None:
    """The partner's code that it handed out, if any. The redemption's own code is then unused."""
    result: PoolCode | None = getattr(redemption, "pool_code", None)
    return result.code if result else None


def add(codes: Sequence[PoolCode]) -> None:
    """Store new codes. Call in a transaction."""
    PoolCode.objects.bulk_create(codes, batch_size=1_000)
