"""Which brands the current request belongs to (its party), for the limits per brand of shared threads.

The code that authenticates a key, a token or a session notes its brand here. The admission of threads reads it
afterwards, and so knows the brand of that credential the next time, before any query.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KEY, TOKEN, SESSION = "key", "token", "session"  # kinds of credentials
ANSWER = "answer"  # the brand that the answer is about


class Party:
    """The owners of a request's authenticated credentials.

    They are kept apart, because a valid key proves nothing about the header next to it. `brand_ids`: the brands of
    all of them, without sessions.
    """

    __slots__ = ("brand_ids", "names")

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.brand_ids: set[int] = set()


_current: ContextVar[Party | None] = ContextVar("party", default=None)


@contextmanager
def learning() -> Iterator[Party]:
    """Collect the notes made within the block. Nested blocks share the same party."""
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
    """Note that the request's `credential`, a KEY, TOKEN or SESSION, is valid for these brands, or its ANSWER is about
    one.

    An API key or a token has one brand; a member of staff has all for which they work.
    """
    brand_ids = sorted(brand_ids)
    party = _current.get()
    if party is not None and credential != SESSION:
        party.brand_ids.update(brand_ids)
    _name(credential, "brand:" + ",".join(map(str, brand_ids)))


def note_user(user_id: int) -> None:
    """Note that the session's user works for no brand: an operator, or a customer in the portal."""
    _name(SESSION, f"user:{user_id}")


def _name(credential: str, name: str) -> None:
    party = _current.get()
    if party is not None:
        party.names[credential] = name
