"""Threads in turns: no party has all of them, who waits is served in turns, and nobody waits for ever."""

from threading import Event, Semaphore, Thread
from time import monotonic, sleep

import pytest

from config.serving.fair_threads import FairThreadPool, NoThreadError, ThreadLimits


class Work:
    """Pieces of work that last until they are let go; `began` are the parties in the order in which they began."""

    def __init__(self, turns):
        self.turns, self.began, self.ends, self.threads = turns, [], Semaphore(0), []

    def start(self, party, *, number=1):
        for _ in range(number):
            before = len(self.began)
            self.threads.append(Thread(target=self._run, args=(party,)))
            self.threads[-1].start()
            wait_until(lambda before=before: len(self.began) > before, seconds=0.05)

    def _run(self, party):
        try:
            self.turns.run(lambda: self._work(party), party=party)
        except NoThreadError:
            self.began.append(f"{party} turned away")

    def _work(self, party):
        self.began.append(party)
        self.ends.acquire()

    def end(self, number=1):
        for _ in range(number):
            before = len(self.began)
            self.ends.release()
            wait_until(lambda before=before: len(self.began) > before, seconds=0.05)

    def finish(self):
        self.ends.release(len(self.threads) or 1)
        for thread in self.threads:
            thread.join(timeout=5)


def wait_until(true, *, seconds=5):
    end = monotonic() + seconds
    while not true() and monotonic() < end:
        sleep(0.001)


@pytest.fixture
def work_under():
    made = []

    def make(**terms):
        made.append(Work(FairThreadPool(ThreadLimits(**terms), "test")))
        return made[-1]

    yield make
    for work in made:
        work.finish()


def test_a_party_never_has_all_threads(work_under):
    work = work_under(threads=3, of_a_party=2)
    work.start("A", number=5)
    work.start("B")

    assert work.began == ["A", "A", "B"]


def test_control_without_a_bound_of_a_party_the_others_wait(work_under):
    work = work_under(threads=3, of_a_party=3)
    work.start("A", number=5)
    work.start("B")

    assert work.began == ["A", "A", "A"]


def test_who_waits_is_served_in_turns(work_under):
    work = work_under(threads=1, of_a_party=1)
    work.start("A", number=4)
    work.start("B", number=2)
    work.start("C")
    work.end(6)

    assert work.began == ["A", "A", "B", "C", "A", "B", "A"]


def test_too_many_of_one_party_are_turned_away_while_others_may_wait(work_under):
    work = work_under(threads=2, of_a_party=1, waiting=4, waiting_of_a_party=2)
    work.start("A", number=4)

    assert work.began == ["A", "A turned away"]

    work.start("B", number=2)
    work.end(2)

    assert "B turned away" not in work.began
    assert work.began.count("B") >= 1


def test_who_waits_too_long_is_turned_away_and_leaves_the_line():
    turns, over = FairThreadPool(ThreadLimits(threads=1, of_a_party=1, seconds=0.05), "test"), Event()
    held = Thread(target=turns.run, args=(over.wait,), kwargs={"party": "A"})
    held.start()
    sleep(0.01)

    with pytest.raises(NoThreadError):
        turns.run(int, party="B")

    over.set()
    held.join()
    assert turns.run(lambda: 7, party="B") == 7


def test_errors_come_out_where_the_work_was_asked_for():
    turns = FairThreadPool(ThreadLimits(threads=1, of_a_party=1), "test")

    with pytest.raises(ZeroDivisionError):
        turns.run(lambda: 1 / 0, party="A")
    assert turns.run(lambda: 7, party="A") == 7


def test_many_at_once_are_all_done_once():
    turns, done = FairThreadPool(ThreadLimits(threads=4, of_a_party=3, waiting=500, waiting_of_a_party=500), "test"), []
    threads = [Thread(target=lambda n=n: turns.run(lambda: done.append(n), party=n % 5)) for n in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert sorted(done) == list(range(300))
