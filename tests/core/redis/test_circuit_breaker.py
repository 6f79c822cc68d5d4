"""Circuit breakers: they open after failures in a row, let one probe through, and all workers see the same."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from core.redis import client
from core.redis.circuit_breaker import CircuitBreaker

ELSEWHERE = """
import django
django.setup()
from core.redis.circuit_breaker import CircuitBreaker
breaker = CircuitBreaker(name={name!r}, failures=2, cooldown_seconds=30)
print({what})
"""


@pytest.fixture
def breaker():
    made = CircuitBreaker(
        name=uuid4().hex, failures=2, cooldown_seconds=0.2, max_cooldown_seconds=0.6, probe_seconds=0.3
    )
    yield made
    made.succeeded()


def test_it_lets_everything_through_until_failures_come_in_a_row(breaker):
    for _ in range(3):
        breaker.failed()
        breaker.succeeded()
    breaker.failed()

    assert (breaker.wait(), breaker.is_open()) == (0, False)


def test_it_opens_and_lets_one_probe_through_after_the_rest(breaker):
    rests = [breaker.failed(), breaker.failed()]
    wait_seconds = breaker.wait()
    time.sleep(0.25)
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: breaker.wait(), range(8)))

    assert rests == [0, 0.2]
    assert 0 < wait_seconds <= 0.2
    assert waits.count(0) == 1


def test_a_probe_that_succeeds_closes_it(breaker):
    breaker.failed()
    breaker.failed()
    time.sleep(0.25)
    assert breaker.wait() == 0
    breaker.succeeded()

    assert [breaker.wait() for _ in range(3)] == [0, 0, 0]


def test_a_probe_that_fails_makes_the_rest_longer(breaker):
    assert [breaker.failed() for _ in range(6)] == [0, 0.2, 0.4, 0.6, 0.6, 0.6]


def test_a_probe_that_never_comes_back_is_followed_by_another(breaker):
    breaker.failed()
    breaker.failed()
    time.sleep(0.25)
    first, second = breaker.wait(), breaker.wait()
    time.sleep(0.35)

    assert (first, breaker.wait()) == (0, 0)
    assert second > 0


def elsewhere(breaker, what):
    """The same question from another process."""
    script = ELSEWHERE.format(name=breaker.name, what=what)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(found.stdout)


def test_what_one_process_finds_out_another_knows(breaker):
    breaker.failed()
    elsewhere(breaker, "breaker.failed()")

    assert breaker.is_open()
    assert breaker.wait() > 20
    assert 0 < elsewhere(breaker, "breaker.wait()") <= 30


@pytest.fixture
def redis_away(settings, tmp_path, monkeypatch):
    """Nobody listens where Redis was; what this process makes of it is over with the test."""
    monkeypatch.setattr(client, "outage", client.OutageState())
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"


def test_while_redis_is_away_nothing_is_held_back(breaker, request):
    breaker.failed()
    breaker.failed()
    assert breaker.is_open()
    request.getfixturevalue("redis_away")

    assert (breaker.wait(), breaker.failed(), breaker.is_open()) == (0, 0, False)
    assert client.outage.is_on
