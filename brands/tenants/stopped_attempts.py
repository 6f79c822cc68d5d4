"""How many attempts at a brand the limits on guessing codes and passwords stopped, for its owner to see.

Counted in Redis, by the day and the hour in UTC, only when a limit rejects a call; nothing is counted while Redis is
away. A task stores the hours as rows, and is their only writer.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from brands.models.quotas import StoppedAttempts
from core.db.statements import command
from core.redis import client

CODES, LOGINS = "codes", "logins"
KINDS = (CODES, LOGINS)
CACHE_SECONDS = 172_800
RETENTION = timedelta(days=30)  # as rows
# How far back the task looks for hours that are not stored yet. Older ones are lost.
STORED_LATE = timedelta(hours=36)
COUNT = """
redis.call('incr', KEYS[1])
redis.call('expire', KEYS[1], ARGV[1])
redis.call('hincrby', KEYS[2], ARGV[2], 1)
redis.call('expire', KEYS[2], ARGV[1])
return 0
"""
STORE_ATTEMPTS = command("brands/tenants/sql/store_stopped_attempts.sql")


def count(kind: str, brand_id: int | None) -> None:
    """Count one for today, at the brand whose app or page was called; None: at no brand."""
    if brand_id is not None:
        now = timezone.now()
        keys = (key_of(kind, brand_id, now), key_of_hour(now))
        client.call_or_none(lambda: client.run(COUNT, keys, (CACHE_SECONDS, f"{kind}:{brand_id}")))


def today(brand_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    """Counts by brand and kind, without zeros; empty while Redis is away."""
    which = [(brand_id, kind) for brand_id in brand_ids for kind in KINDS]
    if not which:
        return {}
    now = timezone.now()
    result: Any = client.call_or_none(
        lambda: client.client().mget([key_of(kind, brand_id, now) for brand_id, kind in which])
    )
    return {one: int(number) for one, number in zip(which, result or (), strict=False) if number}


def key_of(kind: str, brand_id: int, at: datetime) -> str:
    return f"stopped:{kind}:{brand_id}:{at.astimezone(UTC):%Y%m%d}"


def key_of_hour(at: datetime) -> str:
    return f"stopped:hour:{at.astimezone(UTC):%Y%m%d%H}"


def store(*, at: datetime) -> int:
    """Store the counts as rows, and delete the oldest. Returns how many rows are new or have grown."""
    StoppedAttempts.objects.filter(hour__lt=at - RETENTION).delete()
    this_hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [this_hour - timedelta(hours=back) for back in range(STORED_LATE // timedelta(hours=1))]
    counted = client.call_or_none(lambda: _counted(hours)) or []
    if not counted:
        return 0
    brands, kinds, moments, numbers = (list(column) for column in zip(*counted, strict=True))
    return STORE_ATTEMPTS.run(brands=brands, kinds=kinds, hours=moments, numbers=numbers)


def _counted(hours: Sequence[datetime]) -> list[tuple[int, str, datetime, int]]:
    """The counts by brand, kind and hour, in the order of the rows' key, so that concurrent tasks do not deadlock."""
    pipe = client.client().pipeline(transaction=False)
    for hour in hours:
        pipe.hgetall(key_of_hour(hour))
    result = [
        (int(field.partition(b":")[2]), field.partition(b":")[0].decode(), hour, int(number))
        for hour, fields in zip(hours, pipe.execute(), strict=True)
        for field, number in fields.items()
    ]
    return sorted(result)
