"""The keeper: a thread of each process that renews leases while their holders work, so that leases can be short."""

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

Lease = TypeVar("Lease", bound=Hashable)

logger = logging.getLogger(__name__)


class Keeper(Generic[Lease]):
    """Calls `renew` with what has been held for `every` seconds, again and again, until that is let go.

    It stops renewing what has been held for `longest` seconds: a holder that never returns keeps nothing for ever.

    What was lost, because its holder could not say how it ended, goes to the `return_leases` it was lost with until
    that succeeds. Both may raise: they are called again. A process that is killed renews nothing any more.
    """

    def __init__(
        self,
        name: str,
        *,
        every: float,
        longest: float = float("inf"),
        renew: Callable[[Sequence[Lease]], None],
    ) -> None:
        self.name, self.every, self.longest, self._renew = name, every, longest, renew
        self._lock = Lock()
        self._turn = Lock()  # held while renewing: what is let go is renewed no more
        self._leases: dict[Lease, float] = {}
        self._lost: list[tuple[Callable[[Sequence[Lease]], None], list[Lease]]] = []
        self._thread: Thread | None = None

    def hold(self, items: Iterable[Lease]) -> None:
        now = time.monotonic()
        with self._lock:
            self._leases.update(dict.fromkeys(items, now))
            if self._thread is None or not self._thread.is_alive():  # a fork leaves threads behind
                self._thread = Thread(target=self._renew_all, name=self.name, daemon=True)
                self._thread.start()

    def release(self, items: Iterable[Lease]) -> None:
        with self._turn, self._lock:
            for item in items:
                self._leases.pop(item, None)

    def lose(self, items: Iterable[Lease], *, return_leases: Callable[[Sequence[Lease]], None]) -> None:
        """Those of the items that are still held are to be given back."""
        with self._turn, self._lock:
            if lost := [item for item in items if self._leases.pop(item, None) is not None]:
                self._lost.append((return_leases, lost))

    @contextmanager
    def holding(self, items: Sequence[Lease]) -> Iterator[None]:
        self.hold(items)
        try:
            yield
        finally:
            self.release(items)

    def check(self) -> None:
        """One look around: renew what has been held for long enough, give back what was lost."""
        with self._turn:
            now = time.monotonic()
            with self._lock:
                leased = [item for item, since in self._leases.items() if self.every <= now - since < self.longest]
                lost = list(self._lost)
            if leased:
                self._renew(leased)
            for return_leases, items in lost:
                return_leases(items)
                with self._lock:
                    self._lost.pop(0)

    def _renew_all(self) -> None:
        pause = Event()  # never set
        while True:
            pause.wait(self.every / 2)
            try:
                self.check()
            except Exception as error:  # noqa: BLE001 - whatever it was: the next look may succeed
                logger.warning("%s: leases could not be renewed (%s); trying again", self.name, str(error).strip())
