"""A thread pool for one class of requests. Parties take turns, and no party may use all threads."""

from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")
UNKNOWN_CALLERS = "strangers"


@dataclass(frozen=True, slots=True)
class ThreadLimits:
    """`threads` answer this class of requests, at most `of_a_party` of them for one party.

    All parties that are not known yet (UNKNOWN_CALLERS) share `of_unknown_callers` threads: otherwise a caller that
    always pretends to be a new one could use all of them.

    At most `waiting` more requests wait, `waiting_of_a_party` of one party, each for at most `seconds`.
    """

    threads: int
    of_a_party: int
    waiting: int = 64
    waiting_of_a_party: int = 32
    seconds: float = 10.0
    of_unknown_callers: int = 1

    def max_threads_of(self, party: object) -> int:
        return self.of_unknown_callers if party == UNKNOWN_CALLERS else self.of_a_party


class NoThreadError(Exception):
    """No thread became free in time."""


class QueuedCall:
    """A call that waits for a thread. `over` stays locked until the call is done."""

    __slots__ = ("began", "error", "over", "party", "result", "started", "work")

    def __init__(self, work: Callable[[], Any], party: object) -> None:
        self.work, self.party = work, party
        self.result: Any = None
        self.error: BaseException | None = None
        self.started, self.began = False, 0.0  # by this process's clock
        self.over = Lock()
        self.over.acquire()


class PoolThread:
    """One thread of the pool. While idle it waits until `wake` is released with the next call in `call`."""

    __slots__ = ("call", "wake")

    def __init__(self) -> None:
        self.call: QueuedCall | None = None
        self.wake = Lock()
        self.wake.acquire()


class FairThreadPool:
    """Runs calls in its own threads, which start when first needed and live as long as the process.

    Waiting calls are served in turns: one of each waiting party, then the next of each. `waited` is called with the
    waiting time in seconds of each queued call that got a thread.
    """

    def __init__(
        self, limits: ThreadLimits, name: str, *, waited: Callable[[float], None] = lambda _seconds: None
    ) -> None:
        self.limits, self.name, self._waited = limits, name, waited
        self._lock = Lock()
        self._idle: list[PoolThread] = []
        self._threads = 0
        self._running: Counter[object] = Counter()
        self._waiting: dict[object, deque[QueuedCall]] = {}  # in the order of their turns
        self._waiters = 0

    def run(self, work: Callable[[], T], *, party: object) -> T:
        """Run `work` in one of the threads; returns its result or raises its error. Raises NoThreadError."""
        call = QueuedCall(work, party)
        with self._lock:
            thread = self._admit(call)
        if thread:
            thread.wake.release()
            call.over.acquire()
        else:
            self._wait(call)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _admit(self, call: QueuedCall) -> PoolThread | None:
        """The idle thread to wake, or None if the call must wait. Raises NoThreadError if the queue is full."""
        if self._running[call.party] < self.limits.max_threads_of(call.party):
            if self._idle:
                thread = self._idle.pop()
                thread.call = self._begin(call)
                return thread
            if self._threads < self.limits.threads:
                self._threads += 1
                thread = PoolThread()
                thread.call = self._begin(call)
                Thread(target=self._serve, args=(thread,), name=f"{self.name}-{self._threads}", daemon=True).start()
                return thread
        queue_of_party = self._waiting.get(call.party)
        if self._waiters >= self.limits.waiting or (
            queue_of_party and len(queue_of_party) >= self.limits.waiting_of_a_party
        ):
            raise NoThreadError
        if queue_of_party is None:
            queue_of_party = self._waiting[call.party] = deque()
        queue_of_party.append(call)
        self._waiters += 1
        return None

    def _wait(self, call: QueuedCall) -> None:
        """Wait until the call is done. Raises NoThreadError if its turn did not come in time."""
        began = monotonic()
        if not call.over.acquire(timeout=self.limits.seconds):
            self._leave(call)
            call.over.acquire()
        self._waited(call.began - began)

    def _begin(self, call: QueuedCall) -> QueuedCall:
        self._running[call.party] += 1
        call.started, call.began = True, monotonic()
        return call

    def _leave(self, call: QueuedCall) -> None:
        """Remove a call that waited too long from the queue. Raises NoThreadError, unless it has just been started."""
        with self._lock:
            if call.started:
                return
            queue_of_party = self._waiting.get(call.party)
            if queue_of_party is not None:
                with suppress(ValueError):
                    queue_of_party.remove(call)
                    self._waiters -= 1
                if not queue_of_party:
                    del self._waiting[call.party]
        raise NoThreadError

    def _serve(self, thread: PoolThread) -> None:
        while True:
            thread.wake.acquire()
            call, thread.call = thread.call, None
            while call is not None:
                try:
                    call.result = call.work()
                except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                    call.error = error
                with self._lock:
                    following = self._end(call)
                    if following is None:
                        self._idle.append(thread)
                call.over.release()
                call = following

    def _end(self, call: QueuedCall) -> QueuedCall | None:
        """End the call. Returns the next call: of the first waiting party that is below its limit."""
        self._running[call.party] -= 1
        if not self._running[call.party]:
            del self._running[call.party]
        for party, queue_of_party in self._waiting.items():
            if self._running[party] < self.limits.max_threads_of(party):
                following = queue_of_party.popleft()
                self._waiters -= 1
                del self._waiting[party]
                if queue_of_party:
                    self._waiting[party] = queue_of_party  # after all other parties
                return self._begin(following)
        return None
