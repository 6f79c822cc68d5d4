"""Answers that take long to find, saved in Redis for a few minutes: pages show them at once."""

from core.redis import client

# Saved for so many times as long as finding it took: it costs no more than this share of a processor.
TIMES, MAX_SECONDS = 120, 600


def saved(key: str) -> bytes | None:
    stored = client.ask(lambda: client.client().get(key))
    return stored if isinstance(stored, bytes) else None


def save(key: str, answer: str, *, seconds: float) -> None:
    """`seconds`: how long it took to find the answer."""
    life = min(MAX_SECONDS, max(1, int(seconds * TIMES)))
    client.ask(lambda: client.client().set(key, answer, ex=life))
