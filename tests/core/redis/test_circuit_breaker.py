"""Circuit breakers open after failures in a row, let one probe through, and share their state between workers."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from core.redis import client
from core.redis.circuit_breaker import CircuitBreaker

OTHER_PROCESS = """
import django
django.setup()
from core.redis.circuit_breaker import CircuitBreaker
breaker = CircuitBreaker(name={name!r}, failures=2, cooldown_seconds=30)
print({what})
"""


@pytest.fixture
def breaker():
    circuit_breaker = CircuitBreaker(
        name=uuid4().hex, failures=2, cooldown_seconds=0.2, max_cooldown_seconds=0.6, probe_seconds=0.3
    )
    yield circuit_breaker
    circuit_breaker.succeeded()


def test_breaker_stays_closed_until_failures_come_in_a_row(breaker):
    for _ in range(3):
        breaker.failed()
        breaker.succeeded()
    breaker.failed()

    assert (breaker.wait(), breaker.is_open()) == (0, False)


def test_open_breaker_lets_one_probe_through_after_the_cooldown(breaker):
    cooldowns = [breaker.failed(), breaker.failed()]
    wait_seconds = breaker.wait()
    time.sleep(0.25)
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: breaker.wait(), range(8)))

    assert cooldowns == [0, 0.2]
    assert 0 < wait_seconds <= 0.2
    assert waits.count(0) == 1


def test_successful_probe_closes_the_breaker(breaker):
    breaker.failed()
    breaker.failed()
    time.sleep(0.25)
    assert breaker.wait() == 0
    breaker.succeeded()

    assert [breaker.wait() for _ in range(3)] == [0, 0, 0]


def test_repeated_failures_lengthen_the_cooldown(breaker):
    assert [breaker.failed() for _ in range(6)] == [0, 0.2, 0.4, 0.6, 0.6, 0.6]


def test_probe_without_a_result_is_followed_by_another(breaker):
    breaker.failed()
    breaker.failed()
    time.sleep(0.25)
    first, second = breaker.wait(), breaker.wait()
    time.sleep(0.35)

    assert (first, breaker.wait()) == (0, 0)
    assert second > 0


def in_other_process(breaker, expression):
    """The value of an expression in another process."""
    script = OTHER_PROCESS.format(name=breaker.name, what=expression)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(result.stdout)


def test_processes_share_the_state_of_a_breaker(breaker):
    breaker.failed()
    in_other_process(breaker, "breaker.failed()")

    assert breaker.is_open()
    assert breaker.wait() > 20
    assert 0 < in_other_process(breaker, "breaker.wait()") <= 30


@pytest.fixture
def redis_unavailable(settings, tmp_path, monkeypatch):
    """Redis is unreachable; the outage state of this process is reset after the test."""
    monkeypatch.setattr(client, "outage", client.OutageState())
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"


def test_breaker_lets_calls_through_without_redis(breaker, request):
    breaker.failed()
    breaker.failed()
    assert breaker.is_open()
    request.getfixturevalue("redis_unavailable")

    assert (breaker.wait(), breaker.failed(), breaker.is_open()) == (0, 0, False)
    assert client.outage.is_on
