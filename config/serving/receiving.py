"""Receives request bodies before a thread for the answer is requested, so that slow senders do not occupy these."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import IO, Any

FIRST_PIECE, MAX_PIECE_BYTES = 16, 65_536  # a read returns only a complete piece


class TooManyBodiesError(Exception):
    """Too many bodies are being received, from this sender or altogether."""


class BodyTooSlowError(Exception):
    """The body did not arrive in time."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of bodies received at once: `altogether`, and of slow ones from one address and for one party.

    Above `altogether`, only addresses with fewer than `of_reserve` bodies may send another, up to `with_reserve`
    altogether: a few addresses that use all places leave some to the others.

    A body is slow after `slow_seconds`. It may take `seconds`, plus one second for each `bytes_a_second` of its length.
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
    """The sender of a body that is being received, and its start by this process's clock."""

    address: str
    party: object
    since: float


class Receiving:
    """Tracks the bodies that this process is receiving."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._lock = Lock()
        self._under_way: set[Sender] = set()

    @contextmanager
    def place(self, *, address: str, party: object) -> Iterator[None]:
        """Occupy a place while the body is received. Raises TooManyBodiesError."""
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
        """Write up to `length` bytes into `body`. Returns their number; it is smaller if the sender stopped early.

        Pieces grow while they arrive fast; a slow piece is followed by a small one, so that a sender of one byte a
        second is noticed. Raises BodyTooSlowError.
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
