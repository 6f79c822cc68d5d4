"""Bodies of requests, read before a thread that answers is asked for: a slow sender keeps none of those."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import IO, Any

FIRST_PIECE, MAX_PIECE_BYTES = 16, 65_536  # a read lasts until all of its piece is there


class TooManyBodiesError(Exception):
    """Too many bodies are on their way, from this sender or altogether."""


class BodyTooSlowError(Exception):
    """The body did not come in time."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many bodies may be on their way at once: altogether, and slow ones from one address and for one party.

    Above `altogether` only an address with fewer than `of_reserve` may send another, up to `with_reserve` altogether:
    a few addresses that keep all places leave some to everybody else.

    A body is slow after `slow_seconds`. It has `seconds`, and another for each `bytes_a_second` of it.
    """

    altogether: int = 160
    with_reserve: int = 256
    of_reserve: int = 4
    of_an_address: int = 64
    of_a_party: int = 48
    slow_seconds: float = 1.0
    seconds: float = 10.0
    bytes_a_second: int = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Sender:
    """Whose body is on its way, since when on this process's clock."""

    address: str
    party: object
    since: float


class Receiving:
    """Knows the bodies that are on their way in this process."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._lock = Lock()
        self._under_way: set[Sender] = set()

    @contextmanager
    def place(self, *, address: str, party: object) -> Iterator[None]:
        """Raises TooManyBodiesError."""
        sender = Sender(address, party, monotonic())
        with self._lock:
            if self._is_full_for(sender):
                raise TooManyBodiesError
            self._under_way.add(sender)
        try:
            yield
        finally:
            with self._lock:
                self._under_way.discard(sender)

    def _is_full_for(self, new: Sender) -> bool:
        bounds = self.bounds
        if len(self._under_way) >= bounds.altogether and not self._has_reserve_for(new):
            return True
        if len(self._under_way) < min(bounds.of_an_address, bounds.of_a_party):
            return False
        slow = [each for each in self._under_way if new.since - each.since > bounds.slow_seconds]
        return (
            sum(each.address == new.address for each in slow) >= bounds.of_an_address
            or sum(each.party == new.party for each in slow) >= bounds.of_a_party
        )

    def _has_reserve_for(self, new: Sender) -> bool:
        connections = sum(each.address == new.address for each in self._under_way)
        return connections < self.bounds.of_reserve and len(self._under_way) < self.bounds.with_reserve

    def read(self, source: Any, body: IO[bytes], length: int) -> int:
        """Write up to `length` bytes into `body`. Returns how many; fewer where the sender ended early.

        Pieces grow while they come fast; one that took long is followed by a small one, so that somebody who sends a
        byte a second is seen. Raises BodyTooSlowError.
        """
        began = monotonic()
        deadline = began + self.bounds.seconds + length / self.bounds.bytes_a_second
        done, piece = 0, FIRST_PIECE
        while done < length:
            before = monotonic()
            chunk = source.read(min(piece, length - done))
            now = monotonic()
            if not chunk:
                break
            body.write(chunk)
            done += len(chunk)
            piece = min(MAX_PIECE_BYTES, piece * 4) if now - before < 1 else max(1, piece // 16)
            if now > deadline and done < length:
                raise BodyTooSlowError
        return done
