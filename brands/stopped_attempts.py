"""How many attempts at a brand were stopped today by the limits of guessing codes and passwords, for its owner to see.

Counted in Redis, by the day in UTC, only where a limit refuses a call; nothing is counted while Redis is away.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from brands import limits

CODES, LOGINS = "codes", "logins"
KINDS = (CODES, LOGINS)
KEPT_SECONDS = 172_800
COUNT = """
redis.call('incr', KEYS[1])
redis.call('expire', KEYS[1], ARGV[1])
return 0
"""


def count(kind: str, brand_id: int | None) -> None:
    """One more of today, at the brand whose app or page was asked; None: at nobody's."""
    if brand_id is not None:
        limits.ask(lambda: limits.run(COUNT, (key_of(kind, brand_id, timezone.now()),), (KEPT_SECONDS,)))


def today(brand_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    """By brand and kind, without those that have none; empty while Redis is away."""
    which = [(brand_id, kind) for brand_id in brand_ids for kind in KINDS]
    if not which:
        return {}
    now = timezone.now()
    found: Any = limits.ask(lambda: limits.client().mget([key_of(kind, brand_id, now) for brand_id, kind in which]))
    return {one: int(number) for one, number in zip(which, found or (), strict=False) if number}


def key_of(kind: str, brand_id: int, at: datetime) -> str:
    return f"stopped:{kind}:{brand_id}:{at.astimezone(UTC):%Y%m%d}"
