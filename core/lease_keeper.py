"""The keeper: a thread of each process that renews leases while their holders work, so that leases can be short."""

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

Held = TypeVar("Held", bound=Hashable)

logger = logging.getLogger(__name__)


class Keeper(Generic[Held]):
    """Calls `renew` with what has been held for `every` seconds, again and again, until that is let go.

    It stops renewing what has been held for `longest` seconds: a holder that never returns keeps nothing for ever.

    What was lost, because its holder could not say how it ended, goes to the `give_back` that it was lost with until
    that succeeds. Both may raise: they are called again. A process that is killed renews nothing any more.
    """

    def __init__(
        self,
        name: str,
        *,
        every: float,
        longest: float = float("inf"),
        renew: Callable[[Sequence[Held]], None],
    ) -> None:
        self.name, self.every, self.longest, self._renew = name, every, longest, renew
        self._lock = Lock()
        self._turn = Lock()  # held while renewing: what is let go is renewed no more
        self._held: dict[Held, float] = {}
        self._lost: list[tuple[Callable[[Sequence[Held]], None], list[Held]]] = []
        self._thread: Thread | None = None

    def hold(self, items: Iterable[Held]) -> None:
        now = time.monotonic()
        with self._lock:
            self._held.update(dict.fromkeys(items, now))
            if self._thread is None or not self._thread.is_alive():  # a fork leaves threads behind
                self._thread = Thread(target=self._keep, name=self.name, daemon=True)
                self._thread.start()

    def release(self, items: Iterable[Held]) -> None:
        with self._turn, self._lock:
            for item in items:
                self._held.pop(item, None)

    def lose(self, items: Iterable[Held], *, give_back: Callable[[Sequence[Held]], None]) -> None:
        """Those of the items that are still held are to be given back."""
        with self._turn, self._lock:
            if lost := [item for item in items if self._held.pop(item, None) is not None]:
                self._lost.append((give_back, lost))

    @contextmanager
    def holding(self, items: Sequence[Held]) -> Iterator[None]:
        self.hold(items)
        try:
            yield
        finally:
            self.release(items)

    def look(self) -> None:
        """One look around: renew what has been held for long enough, give back what was lost."""
        with self._turn:
            now = time.monotonic()
            with self._lock:
                held = [item for item, since in self._held.items() if self.every <= now - since < self.longest]
                lost = list(self._lost)
            if held:
                self._renew(held)
            for give_back, items in lost:
                give_back(items)
                with self._lock:
                    self._lost.pop(0)

    def _keep(self) -> None:
        pause = Event()  # never set
        while True:
            pause.wait(self.every / 2)
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - whatever it was: the next look may succeed
                logger.warning("%s: leases could not be renewed (%s); trying again", self.name, str(error).strip())
