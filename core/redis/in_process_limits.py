"""Limits while Redis is away: each process counts for itself, in memory, and allows a part of the limit.

Each key has a token bucket that holds 1/SHARE of the limit and refills over the limit's period. With a few
processes, a host allows no more than with Redis. What Redis had counted is not known here.
"""

from collections import OrderedDict
from math import ceil
from threading import Lock
from time import monotonic

from core.errors import RateLimited

SHARE = 4  # a quarter of the limit, one call at least
MAX_KEYS = 20_000

_lock = Lock()
# By key: the bucket's level, and when it had that level. The most recently used keys are at the end.
_buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()


def hit(key: str, amount: int, seconds: int) -> None:
    """Take one call of `amount` in `seconds` from this process's share. Raises RateLimited."""
    capacity = max(1, amount // SHARE)
    with _lock:
        level = _level(key, capacity, seconds)
        if level >= 1:
            _buckets[key] = level - 1, monotonic()
            _buckets.move_to_end(key)
            if len(_buckets) > MAX_KEYS:
                _buckets.popitem(last=False)
            return
    raise RateLimited(retry_after=max(1, ceil((1 - level) * seconds / capacity)))


def clear() -> None:
    """Reset to the state of a new process."""
    with _lock:
        _buckets.clear()


def _level(key: str, capacity: int, seconds: int) -> float:
    level, then = _buckets.get(key, (capacity, 0.0))
    return min(capacity, level + (monotonic() - then) * capacity / seconds)
