"""Which brands the current request belongs to (its party), for the limits per brand of shared threads.

Whoever learns the brand of a key, a token or a session says so here; whoever hands out threads reads it afterwards and
knows the brand of that credential the next time, before anything is asked of the database.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Party:
    """The brands that a request turned out to belong to; empty where nobody said so."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = ""


_current: ContextVar[Party | None] = ContextVar("party", default=None)


@contextmanager
def learning() -> Iterator[Party]:
    """What is noted inside is in the party afterwards."""
    party = Party()
    token = _current.set(party)
    try:
        yield party
    finally:
        _current.reset(token)


def note(brand_ids: Iterable[int]) -> None:
    """The current request belongs to these brands: an API key's one, or all in which a member of staff works."""
    _name("brand:" + ",".join(map(str, sorted(brand_ids))))


def note_person(user_id: int) -> None:
    """The current request is of somebody who works for no brand: an operator, or a customer in the portal."""
    _name(f"user:{user_id}")


def _name(name: str) -> None:
    party = _current.get()
    if party is not None:
        party.name = name
