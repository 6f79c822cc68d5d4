"""Which brands the current request belongs to (its party), for the limits per brand of shared threads.

Whoever learns the brand of a key, a token or a session says so here; whoever hands out threads reads it afterwards and
knows the brand of that credential the next time, before anything is asked of the database.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KEY, TOKEN, SESSION = "key", "token", "session"  # what somebody may be recognised by
ANSWER = "answer"  # what was answered, to whoever asked


class Party:
    """Whose each credential of a request turned out to be; without those that nobody authenticated.

    They are apart, for a good key says nothing of the header beside it. `brand_ids`: of all of them, without sessions.
    """

    __slots__ = ("brand_ids", "names")

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.brand_ids: set[int] = set()


_current: ContextVar[Party | None] = ContextVar("party", default=None)


@contextmanager
def learning() -> Iterator[Party]:
    """What is noted inside is in the party afterwards; the same party for those who learn inside."""
    known = _current.get()
    if known is not None:
        yield known
        return
    party = Party()
    token = _current.set(party)
    try:
        yield party
    finally:
        _current.reset(token)


def note(credential: str, brand_ids: Iterable[int]) -> None:
    """The request's `credential`, a KEY, TOKEN or SESSION, is good, and is of these brands; or its ANSWER tells of one.

    That is an API key's or a token's one, or all in which a member of staff works.
    """
    brand_ids = sorted(brand_ids)
    party = _current.get()
    if party is not None and credential != SESSION:
        party.brand_ids.update(brand_ids)
    _name(credential, "brand:" + ",".join(map(str, brand_ids)))


def note_user(user_id: int) -> None:
    """The current session is of somebody who works for no brand: an operator, or a customer in the portal."""
    _name(SESSION, f"user:{user_id}")


def _name(credential: str, name: str) -> None:
    party = _current.get()
    if party is not None:
        party.names[credential] = name
