"""Threads for one class of requests, handed out in turns among parties, of which none may have all of them."""

from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")
STRANGERS = "strangers"


@dataclass(frozen=True, slots=True)
class Terms:
    """`threads` answer this class of requests, at most `of_a_party` of them for one party.

    Of parties that nobody knows yet (STRANGERS) it is `of_strangers` together: one that always came as somebody else
    would have everything.

    Beyond that at most `waiting` requests wait, `waiting_of_a_party` of one party, for `seconds` at most.
    """

    threads: int
    of_a_party: int
    waiting: int = 64
    waiting_of_a_party: int = 32
    seconds: float = 10.0
    of_strangers: int = 1

    def most_of(self, party: object) -> int:
        return self.of_strangers if party == STRANGERS else self.of_a_party


class Busy(Exception):  # noqa: N818 - an answer, not an error
    """There was no thread in time."""


class Ticket:
    """A piece of work that waits for its turn; `over` is locked until it was done."""

    __slots__ = ("began", "error", "over", "party", "result", "started", "work")

    def __init__(self, work: Callable[[], Any], party: object) -> None:
        self.work, self.party = work, party
        self.result: Any = None
        self.error: BaseException | None = None
        self.started, self.began = False, 0.0  # on the clock of this process
        self.over = Lock()
        self.over.acquire()


class Hand:
    """One thread: idle, it waits for `call` to be released with the next ticket in `ticket`."""

    __slots__ = ("call", "ticket")

    def __init__(self) -> None:
        self.ticket: Ticket | None = None
        self.call = Lock()
        self.call.acquire()


class Turns:
    """Runs work in threads of its own. They start when they are first needed and last as long as the process.

    Whoever waits is served in turns: one of each party that waits, then the next of each. `waited` hears for how many
    seconds somebody had to who then got a thread.
    """

    def __init__(self, terms: Terms, name: str, *, waited: Callable[[float], None] = lambda _seconds: None) -> None:
        self.terms, self.name, self._waited = terms, name, waited
        self._lock = Lock()
        self._idle: list[Hand] = []
        self._hands = 0
        self._running: Counter[object] = Counter()
        self._waiting: dict[object, deque[Ticket]] = {}  # in the order of their turns
        self._waiters = 0

    def run(self, work: Callable[[], T], *, party: object) -> T:
        """What `work` returns or raises, run in one of the threads. Raises Busy."""
        ticket = Ticket(work, party)
        with self._lock:
            hand = self._admit(ticket)
        if hand:
            hand.call.release()
            ticket.over.acquire()
        else:
            self._wait(ticket)
        if ticket.error is not None:
            raise ticket.error
        found: T = ticket.result
        return found

    def _admit(self, ticket: Ticket) -> Hand | None:
        """The hand to call, if the ticket needs not wait. Raises Busy."""
        if self._running[ticket.party] < self.terms.most_of(ticket.party):
            if self._idle:
                hand = self._idle.pop()
                hand.ticket = self._begin(ticket)
                return hand
            if self._hands < self.terms.threads:
                self._hands += 1
                hand = Hand()
                hand.ticket = self._begin(ticket)
                Thread(target=self._serve, args=(hand,), name=f"{self.name}-{self._hands}", daemon=True).start()
                return hand
        theirs = self._waiting.get(ticket.party)
        if self._waiters >= self.terms.waiting or (theirs and len(theirs) >= self.terms.waiting_of_a_party):
            raise Busy
        if theirs is None:
            theirs = self._waiting[ticket.party] = deque()
        theirs.append(ticket)
        self._waiters += 1
        return None

    def _wait(self, ticket: Ticket) -> None:
        """Until it was done. Raises Busy where its turn did not come in time."""
        began = monotonic()
        if not ticket.over.acquire(timeout=self.terms.seconds):
            self._leave(ticket)
            ticket.over.acquire()
        self._waited(ticket.began - began)

    def _begin(self, ticket: Ticket) -> Ticket:
        self._running[ticket.party] += 1
        ticket.started, ticket.began = True, monotonic()
        return ticket

    def _leave(self, ticket: Ticket) -> None:
        """Take a ticket that waited too long out of the line. Raises Busy, unless its turn has just come."""
        with self._lock:
            if ticket.started:
                return
            theirs = self._waiting.get(ticket.party)
            if theirs is not None:
                with suppress(ValueError):
                    theirs.remove(ticket)
                    self._waiters -= 1
                if not theirs:
                    del self._waiting[ticket.party]
        raise Busy

    def _serve(self, hand: Hand) -> None:
        while True:
            hand.call.acquire()
            ticket, hand.ticket = hand.ticket, None
            while ticket is not None:
                try:
                    ticket.result = ticket.work()
                except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                    ticket.error = error
                with self._lock:
                    following = self._end(ticket)
                    if following is None:
                        self._idle.append(hand)
                ticket.over.release()
                ticket = following

    def _end(self, ticket: Ticket) -> Ticket | None:
        """The next whose turn it is: of the first party in line that has not as many threads as it may have."""
        self._running[ticket.party] -= 1
        if not self._running[ticket.party]:
            del self._running[ticket.party]
        for party, theirs in self._waiting.items():
            if self._running[party] < self.terms.most_of(party):
                following = theirs.popleft()
                self._waiters -= 1
                del self._waiting[party]
                if theirs:
                    self._waiting[party] = theirs  # behind all others
                return self._begin(following)
        return None
