"""Fair threads: no party has all of them, waiting parties are served alternately, and no request waits for ever."""

from threading import Event, Semaphore, Thread
from time import monotonic, sleep

import pytest

from config.serving.fair_threads import FairThreadPool, NoThreadError, ThreadLimits


class Work:
    """Pieces of work that last until they are released; `began` lists their parties in the order of their starts."""

    def __init__(self, pool):
        self.pool, self.began, self.ends, self.threads = pool, [], Semaphore(0), []

    def start(self, party, *, number=1):
        for _ in range(number):
            before = len(self.began)
            self.threads.append(Thread(target=self._run, args=(party,)))
            self.threads[-1].start()
            wait_until(lambda before=before: len(self.began) > before, seconds=0.05)

    def _run(self, party):
        try:
            self.pool.run(lambda: self._work(party), party=party)
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


def wait_until(condition, *, seconds=5):
    end = monotonic() + seconds
    while not condition() and monotonic() < end:
        sleep(0.001)


@pytest.fixture
def work_under():
    works = []

    def make(**limits):
        works.append(Work(FairThreadPool(ThreadLimits(**limits), "test")))
        return works[-1]

    yield make
    for work in works:
        work.finish()


def test_party_never_has_all_threads(work_under):
    work = work_under(threads=3, of_a_party=2)
    work.start("A", number=5)
    work.start("B")

    assert work.began == ["A", "A", "B"]


def test_control_without_a_limit_per_party_the_others_wait(work_under):
    work = work_under(threads=3, of_a_party=3)
    work.start("A", number=5)
    work.start("B")

    assert work.began == ["A", "A", "A"]


def test_waiting_parties_are_served_alternately(work_under):
    work = work_under(threads=1, of_a_party=1)
    work.start("A", number=4)
    work.start("B", number=2)
    work.start("C")
    work.end(6)

    assert work.began == ["A", "A", "B", "C", "A", "B", "A"]


def test_excess_waiting_requests_of_a_party_are_rejected_but_not_anothers(work_under):
    work = work_under(threads=2, of_a_party=1, waiting=4, waiting_of_a_party=2)
    work.start("A", number=4)

    assert work.began == ["A", "A turned away"]

    work.start("B", number=2)
    work.end(2)

    assert "B turned away" not in work.began
    assert work.began.count("B") >= 1


def test_request_that_waits_too_long_is_rejected_and_leaves_the_queue():
    pool, over = FairThreadPool(ThreadLimits(threads=1, of_a_party=1, seconds=0.05), "test"), Event()
    running_thread = Thread(target=pool.run, args=(over.wait,), kwargs={"party": "A"})
    running_thread.start()
    sleep(0.01)

    with pytest.raises(NoThreadError):
        pool.run(int, party="B")

    over.set()
    running_thread.join()
    assert pool.run(lambda: 7, party="B") == 7


def test_error_of_the_work_is_raised_to_its_caller():
    pool = FairThreadPool(ThreadLimits(threads=1, of_a_party=1), "test")

    with pytest.raises(ZeroDivisionError):
        pool.run(lambda: 1 / 0, party="A")
    assert pool.run(lambda: 7, party="A") == 7


def test_many_concurrent_calls_each_run_once():
    pool, done = FairThreadPool(ThreadLimits(threads=4, of_a_party=3, waiting=500, waiting_of_a_party=500), "test"), []
    threads = [Thread(target=lambda n=n: pool.run(lambda: done.append(n), party=n % 5)) for n in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert sorted(done) == list(range(300))
