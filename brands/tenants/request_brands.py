"""Which brands the current request belongs to (its party), for the limits per brand of shared threads.

Whoever learns the brand of a key, a token or a session says so here; whoever hands out threads reads it afterwards and
knows the brand of that credential the next time, before anything is asked of the database.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KEY, TOKEN, SESSION = "key", "token", "session"  # what somebody may be recognised by


class Party:
    """Whose each credential of a request turned out to be; without those that nobody authenticated.

    They are apart, for a good key says nothing of the header beside it.
    """

    __slots__ = ("names",)

    def __init__(self) -> None:
        self.names: dict[str, str] = {}


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


def note(credential: str, brand_ids: Iterable[int]) -> None:
    """The request's `credential`, a KEY, TOKEN or SESSION, is good, and is of these brands.

    That is an API key's or a token's one, or all in which a member of staff works.
    """
    _name(credential, "brand:" + ",".join(map(str, sorted(brand_ids))))


def note_person(user_id: int) -> None:
    """The current session is of somebody who works for no brand: an operator, or a customer in the portal."""
    _name(SESSION, f"user:{user_id}")


def _name(credential: str, name: str) -> None:
    party = _current.get()
    if party is not None:
        party.names[credential] = name
