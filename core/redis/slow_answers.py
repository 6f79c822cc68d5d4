"""Results of slow computations, cached in Redis for a few minutes: pages show them at once."""

from core.redis import client

# Cached for this many times its computation time, so it takes at most 1/TIMES of a processor.
TIMES, MAX_SECONDS = 120, 600


def saved(key: str) -> bytes | None:
    stored = client.call_or_none(lambda: client.client().get(key))
    return stored if isinstance(stored, bytes) else None


def save(key: str, answer: str, *, seconds: float) -> None:
    """`seconds`: how long it took to compute the answer."""
    life = min(MAX_SECONDS, max(1, int(seconds * TIMES)))
    client.call_or_none(lambda: client.client().set(key, answer, ex=life))
