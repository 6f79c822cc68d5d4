"""The keeper: a thread of each process that renews leases while work goes on, so that leases can be short."""

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

Lease = TypeVar("Lease", bound=Hashable)

logger = logging.getLogger(__name__)


class Keeper(Generic[Lease]):
    """Calls `renew` for leases that have been held for `every` seconds, repeatedly, until they are released.

    It stops renewing a lease after `longest` seconds, so that work which never returns does not hold it for ever.

    Lost leases, whose holder could not report how its work ended, are passed to their `return_leases` until that
    succeeds. Both callbacks may raise: they are called again. A killed process renews nothing.
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
        self._turn = Lock()  # held while renewing: a released lease is not renewed afterwards
        self._leases: dict[Lease, float] = {}
        self._lost: list[tuple[Callable[[Sequence[Lease]], None], list[Lease]]] = []
        self._thread: Thread | None = None

    def hold(self, items: Iterable[Lease]) -> None:
        now = time.monotonic()
        with self._lock:
            self._leases.update(dict.fromkeys(items, now))
            if self._thread is None or not self._thread.is_alive():  # a fork does not copy threads
                self._thread = Thread(target=self._renew_all, name=self.name, daemon=True)
                self._thread.start()

    def release(self, items: Iterable[Lease]) -> None:
        with self._turn, self._lock:
            for item in items:
                self._leases.pop(item, None)

    def lose(self, items: Iterable[Lease], *, return_leases: Callable[[Sequence[Lease]], None]) -> None:
        """Have those of the items that are still held returned by `return_leases`."""
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
        """One pass: renew leases that have been held long enough, and return lost ones."""
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
            except Exception as error:  # noqa: BLE001 - the next pass may succeed
                logger.warning("%s: leases could not be renewed (%s); trying again", self.name, str(error).strip())
