"""Rate limits without Redis: a part of each applies, and connections are new when Redis is back."""

import logging
import os
import socket
import time
import uuid

import pytest
import redis
from django.conf import settings as project

from brands.identity import guessing
from brands.identity.guessing import Exemptions, Guesser
from core.errors import RateLimited, Unavailable
from core.redis import client, in_process_limits, rate_limits
from tests.core.redis.conftest import brand_is_allowed, is_allowed

pytestmark = pytest.mark.usefixtures("outage")


@pytest.fixture
def no_redis(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"


@pytest.mark.usefixtures("no_redis")
def test_without_redis_calls_pass_up_to_a_part_of_the_limit(set_rate_limits, unique_id):
    set_rate_limits(scan="40/minute")

    assert [is_allowed("scan", unique_id) for _ in range(12)] == [True] * 10 + [False] * 2
    assert is_allowed("scan", uuid.uuid4().hex)


@pytest.mark.usefixtures("no_redis")
def test_in_process_limit_refills_over_time(set_rate_limits, unique_id):
    set_rate_limits(scan="8/4second")
    assert [is_allowed("scan", unique_id) for _ in range(3)] == [True, True, False]

    time.sleep(2.1)

    assert [is_allowed("scan", unique_id) for _ in range(2)] == [True, False]


@pytest.mark.usefixtures("no_redis")
def test_number_of_in_process_counters_is_bounded(set_rate_limits, monkeypatch):
    monkeypatch.setattr(in_process_limits, "MAX_KEYS", 50)

    for number in range(200):
        rate_limits.hit("scan", number)

    assert len(in_process_limits._buckets) <= 50


@pytest.mark.usefixtures("no_redis")
@pytest.mark.parametrize("name", ["login", "register"])
def test_logins_and_registrations_are_unavailable_without_redis(unique_id, name):
    for _ in range(2):
        with pytest.raises(Unavailable):
            rate_limits.hit(name, unique_id)


@pytest.mark.usefixtures("no_redis")
def test_redis_error_does_not_disable_the_limits(set_rate_limits, unique_id):
    """All calls during the outage together get one reduced limit."""
    set_rate_limits(scan="4/minute")

    assert sum(is_allowed("scan", unique_id) for _ in range(100)) == 1


@pytest.mark.usefixtures("no_redis")
def test_outage_is_logged_once(unique_id, caplog, outage, monkeypatch):
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0)
    for _ in range(10):
        rate_limits.hit("scan", unique_id)

    assert [(record.levelno, record.name) for record in caplog.records] == [(logging.WARNING, "core.redis.client")]


def test_limits_apply_again_once_redis_is_back(set_rate_limits, unique_id, outage, monkeypatch):
    set_rate_limits(scan="1/minute")
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0.05)
    outage.begin(redis.ConnectionError("gone"))
    assert [is_allowed("scan", unique_id), is_allowed("scan", unique_id)] == [True, False]

    time.sleep(0.06)

    assert [is_allowed("scan", unique_id), is_allowed("scan", unique_id)] == [True, False]


def test_dead_connection_is_replaced_and_the_call_counted(set_rate_limits, unique_id):
    """As after a restart of Redis: the first call is counted, not let through for free."""
    set_rate_limits(scan="1/minute")
    rate_limits.hit("scan", unique_id)
    with redis.Redis.from_url(project.REDIS_URL) as another:
        another.client_kill_filter(_id=str(client.client().client_id()))

    assert not is_allowed("scan", unique_id)


def scan_is_allowed(unique_id):
    exemptions = Exemptions(lambda: False, lambda: False, lambda: False)
    try:
        guessing.check(Guesser(unique_id, unique_id), reading=None, exemptions=exemptions, calls="scan")
    except RateLimited:
        return False
    return True


def test_dead_connection_of_a_script_is_replaced_and_the_call_counted(set_rate_limits, unique_id):
    set_rate_limits(scan="1/minute")
    scan_is_allowed(unique_id)
    with redis.Redis.from_url(project.REDIS_URL) as another:
        another.client_kill_filter(_id=str(client.command("CLIENT", "ID")))

    assert not scan_is_allowed(unique_id)


def test_connections_are_replaced_after_an_outage(unique_id, outage, monkeypatch):
    """A master that became a replica keeps its connections open, and would reject every write on them."""
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0)
    before = client.command("CLIENT", "ID"), client.client().client_id()

    assert client.call_or_none(lambda: client.command("REFUSED")) is None

    assert not {client.command("CLIENT", "ID"), client.client().client_id()} & set(before)


def test_connections_of_ended_threads_are_reused(unique_id, run_concurrently):
    """Otherwise the server would run out of connections, and the limits would be off."""
    used = [run_concurrently(8, lambda: client.command("CLIENT", "ID")) for _ in range(5)]

    assert len({each for eight in used for each in eight}) <= 8


def test_forked_child_opens_a_new_connection(unique_id):
    id_in_parent = client.command("CLIENT", "ID")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(client.command("CLIENT", "ID")).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    assert int(os.read(reading, 99)) != id_in_parent
    assert client.command("CLIENT", "ID") == id_in_parent


def test_unresponsive_redis_is_given_up_soon(settings, unique_id, tmp_path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        settings.REDIS_URL = f"unix://{tmp_path}/silent.sock"
        settings.REDIS_TIMEOUT_SECONDS = 0.1
        began = time.monotonic()
        rate_limits.hit("scan", unique_id)
        rate_limits.hit("scan", unique_id)

    assert time.monotonic() - began < 5


def test_without_redis_app_keys_have_a_separate_limit(set_rate_limits, unique_id, no_redis):
    set_rate_limits(brand="80/minute")

    assert [brand_is_allowed(unique_id, app_network="10.0.0.1") for _ in range(3)] == [True, True, False]
    assert brand_is_allowed(unique_id)


def test_without_redis_the_limit_of_a_brand_applies_per_process(set_rate_limits, unique_id, no_redis):
    set_rate_limits(brand="8/minute")

    assert [brand_is_allowed(unique_id) for _ in range(3)] == [True, True, False]
