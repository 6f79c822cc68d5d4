"""Limits without Redis: a part of each passes, and connections are new when it is back."""

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
from tests.core.redis.conftest import brand_passes, passes

pytestmark = pytest.mark.usefixtures("outage")


@pytest.fixture
def no_redis(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"


@pytest.mark.usefixtures("no_redis")
def test_calls_pass_while_redis_is_away_up_to_a_part_of_the_limit(rates, who):
    rates(scan="40/minute")

    assert [passes("scan", who) for _ in range(12)] == [True] * 10 + [False] * 2
    assert passes("scan", uuid.uuid4().hex)


@pytest.mark.usefixtures("no_redis")
def test_the_local_part_fills_up_again(rates, who):
    rates(scan="8/4second")
    assert [passes("scan", who) for _ in range(3)] == [True, True, False]

    time.sleep(2.1)

    assert [passes("scan", who) for _ in range(2)] == [True, False]


@pytest.mark.usefixtures("no_redis")
def test_what_processes_count_for_themselves_is_bounded(rates, monkeypatch):
    monkeypatch.setattr(in_process_limits, "MAX_KEYS", 50)

    for number in range(200):
        rate_limits.hit("scan", number)

    assert len(in_process_limits._buckets) <= 50


@pytest.mark.usefixtures("no_redis")
@pytest.mark.parametrize("name", ["login", "register"])
def test_passwords_cannot_be_tried_while_redis_is_away(who, name):
    for _ in range(2):
        with pytest.raises(Unavailable):
            rate_limits.hit(name, who)


@pytest.mark.usefixtures("no_redis")
def test_one_error_does_not_open_the_limits(rates, who):
    """Redis is away for a moment, and what was let pass then is let pass no more often."""
    rates(scan="4/minute")

    assert sum(passes("scan", who) for _ in range(100)) == 1


@pytest.mark.usefixtures("no_redis")
def test_outage_is_told_once(who, caplog, outage, monkeypatch):
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0)
    for _ in range(10):
        rate_limits.hit("scan", who)

    assert [(record.levelno, record.name) for record in caplog.records] == [(logging.WARNING, "core.redis.client")]


def test_limits_hold_again_as_soon_as_redis_is_back(rates, who, outage, monkeypatch):
    rates(scan="1/minute")
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0.05)
    outage.begin(redis.ConnectionError("gone"))
    assert [passes("scan", who), passes("scan", who)] == [True, False]

    time.sleep(0.06)

    assert [passes("scan", who), passes("scan", who)] == [True, False]


def test_dead_connections_are_replaced_at_once(rates, who):
    """As after a restart of Redis: the first call counts, it does not pass for free."""
    rates(scan="1/minute")
    rate_limits.hit("scan", who)
    with redis.Redis.from_url(project.REDIS_URL) as another:
        another.client_kill_filter(_id=str(client.client().client_id()))

    assert not passes("scan", who)


def counted(who):
    exemptions = Exemptions(lambda: False, lambda: False, lambda: False)
    try:
        guessing.check(Guesser(who, who), reading=None, exemptions=exemptions, calls="scan")
    except RateLimited:
        return False
    return True


def test_a_dead_connection_of_a_script_is_replaced_at_once(rates, who):
    rates(scan="1/minute")
    counted(who)
    with redis.Redis.from_url(project.REDIS_URL) as another:
        another.client_kill_filter(_id=str(client.command("CLIENT", "ID")))

    assert not counted(who)


def test_after_an_outage_connections_are_new(who, outage, monkeypatch):
    """A master that was made a replica keeps its connections, and would refuse every write on them."""
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0)
    before = client.command("CLIENT", "ID"), client.client().client_id()

    assert client.ask(lambda: client.command("REFUSED")) is None

    assert not {client.command("CLIENT", "ID"), client.client().client_id()} & set(before)


def test_threads_that_have_ended_leave_their_connections_to_others(who, at_once):
    """However many there were: the server would run out of connections, and the limits would be off."""
    used = [at_once(8, lambda: client.command("CLIENT", "ID")) for _ in range(5)]

    assert len({each for eight in used for each in eight}) <= 8


def test_a_child_does_not_talk_on_its_parents_connection(who):
    own = client.command("CLIENT", "ID")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(client.command("CLIENT", "ID")).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    assert int(os.read(reading, 99)) != own
    assert client.command("CLIENT", "ID") == own


def test_redis_that_does_not_answer_is_given_up_soon(settings, who, tmp_path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        settings.REDIS_URL = f"unix://{tmp_path}/silent.sock"
        settings.REDIS_TIMEOUT_SECONDS = 0.1
        began = time.monotonic()
        rate_limits.hit("scan", who)
        rate_limits.hit("scan", who)

    assert time.monotonic() - began < 5


def test_without_redis_app_keys_have_a_part_of_their_own(rates, who, no_redis):
    rates(brand="80/minute")

    assert [brand_passes(who, app_in="10.0.0.1") for _ in range(3)] == [True, True, False]
    assert brand_passes(who)


def test_the_ceiling_of_a_brand_is_each_processs_own_part_without_redis(rates, who, no_redis):
    rates(brand="8/minute")

    assert [brand_passes(who) for _ in range(3)] == [True, True, False]
