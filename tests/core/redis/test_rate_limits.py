"""Limits hold exactly under parallel calls, tell when to come back, and do not stop the service without Redis."""

import logging
import os
import socket
import time
import uuid

import pytest
import redis
from django.conf import settings as project
from django.core.cache import cache
from rest_framework.throttling import SimpleRateThrottle

from brands.identity import guessing
from brands.identity.guessing import Exemptions, Guesser
from core.errors import RateLimited, Unavailable
from core.redis import client, in_process_limits, rate_limits
from core.redis.client import OutageState
from core.web import client_address


@pytest.fixture
def who():
    """Somebody whom no test has counted before."""
    return uuid.uuid4().hex


@pytest.fixture(autouse=True)
def outage(monkeypatch):
    in_process_limits.clear()
    fresh = OutageState()
    monkeypatch.setattr(client, "outage", fresh)
    return fresh


@pytest.fixture
def rates(settings):
    def give(**names):
        settings.RATE_LIMITS = {**project.RATE_LIMITS, **names}

    return give


@pytest.fixture
def no_redis(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"


def passes(name, *identifiers):
    try:
        rate_limits.hit(name, *identifiers)
    except RateLimited:
        return False
    return True


# --- Counting --------------------------------------------------------------------------------------------------------


def test_call_after_the_last_is_refused_with_the_time_to_wait(rates, who):
    rates(scan="3/minute")
    for _ in range(3):
        rate_limits.hit("scan", who)

    with pytest.raises(RateLimited) as refusal:
        rate_limits.hit("scan", who)

    assert 59 <= refusal.value.retry_after <= 60


def test_call_passes_after_that_time_and_not_before(rates, who):
    rates(scan="2/2second")
    rate_limits.hit("scan", who)
    time.sleep(1)
    rate_limits.hit("scan", who)

    with pytest.raises(RateLimited) as refusal:
        rate_limits.hit("scan", who)
    time.sleep(refusal.value.retry_after)

    assert refusal.value.retry_after == 1
    assert [passes("scan", who), passes("scan", who)] == [True, False]


def test_window_moves_so_no_boundary_doubles_the_limit(rates, who):
    """A counter per calendar window would let four pass within the time that spans two of them."""
    rates(scan="2/3 second")
    time.sleep((2.5 - time.time() % 3) % 3)
    before = [passes("scan", who), passes("scan", who)]
    time.sleep(0.7)

    assert before == [True, True]
    assert not passes("scan", who)


def test_everybody_has_an_own_count(rates, who):
    rates(scan="1/minute", read="1/minute")
    rate_limits.hit("scan", who, 1)

    assert passes("scan", who, 2)
    assert passes("read", who, 1)
    assert not passes("scan", who, 1)


def test_exactly_the_limit_passes_under_parallel_calls(rates, who, at_once):
    rates(campaign_event="100/minute")

    passed = at_once(32, lambda: sum(passes("campaign_event", who) for _ in range(20)))

    assert sum(passed) == 100


def test_control_drf_throttle_lets_more_pass(who, at_once):
    """The control: it reads, appends and writes a list, so parallel calls overwrite each other's entry."""

    class Throttle(SimpleRateThrottle):
        rate = "100/min"

        def get_cache_key(self, *_):
            return who

    passed = at_once(32, lambda: sum(Throttle().allow_request(None, None) for _ in range(20)))

    assert sum(passed) > 100
    cache.delete(who)


# --- Without Redis ---------------------------------------------------------------------------------------------------


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

    assert time.monotonic() - began < 1


# --- Ceilings of brands ----------------------------------------------------------------------------------------------


def brand_passes(brand, **where):
    try:
        rate_limits.hit_brand(brand, **where)
    except RateLimited:
        return False
    return True


def test_calls_with_a_brands_keys_have_an_exact_ceiling_of_their_own(rates, who, at_once):
    rates(brand="7/minute")

    assert sum(at_once(16, lambda: sum(brand_passes(who) for _ in range(4)))) == 7
    assert brand_passes(f"{who}2")


def test_calls_with_app_keys_stop_no_hub(rates, who):
    rates(brand="20/minute")
    networks = [f"10.0.0.{number}" for number in range(12)]

    assert sum(brand_passes(who, app_in=network) for network in networks for _ in range(2)) == 20
    assert not brand_passes(who, app_in="10.0.1.1")
    assert sum(brand_passes(who) for _ in range(21)) == 20


def test_one_network_makes_a_tenth_of_the_calls_with_app_keys(rates, who):
    rates(brand="20/minute")

    assert [brand_passes(who, app_in="10.0.0.1") for _ in range(3)] == [True, True, False]
    assert brand_passes(who, app_in="10.0.0.2")
    assert sum(brand_passes(who, app_in=f"2001:db8:1:{number}::/64") for number in range(20)) == 8


def test_a_call_with_a_key_is_one_round_trip(who, monkeypatch):
    asked, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *words: asked.append(words[0]) or command(*words))

    assert brand_passes(who, app_in="2001:db8::/64")
    assert set(asked) <= {"EVALSHA", "EVAL"}
    asked.clear()
    assert brand_passes(who, app_in="2001:db8::/64")

    assert asked == ["EVALSHA"]


def test_without_redis_app_keys_have_a_part_of_their_own(rates, who, no_redis):
    rates(brand="80/minute")

    assert [brand_passes(who, app_in="10.0.0.1") for _ in range(3)] == [True, True, False]
    assert brand_passes(who)


def test_the_ceiling_of_a_brand_is_each_processs_own_part_without_redis(rates, who, no_redis):
    rates(brand="8/minute")

    assert [brand_passes(who) for _ in range(3)] == [True, True, False]


# --- Whose address ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, None, "10.0.0.1"),
        (0, "203.0.113.9", "10.0.0.1"),
        (1, None, "10.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.7", "203.0.113.9"),
        (2, "203.0.113.9", "203.0.113.9"),
        (1, "203.0.113.9:5123", "203.0.113.9"),
        (1, "[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2::/64"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (1, "2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        (1, "::ffff:203.0.113.9", "203.0.113.9"),
        (1, "", "10.0.0.1"),
        (1, "unknown", "10.0.0.1"),
        (1, "6.6.6.6,", "10.0.0.1"),
        (1, "x" * 10_000, "10.0.0.1"),
    ],
)
def test_address_is_the_one_that_the_outermost_trusted_proxy_saw(rf, settings, proxies, forwarded, expected):
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}

    assert client_address.client_address(rf.get("/", headers=headers, REMOTE_ADDR="10.0.0.1")) == expected


@pytest.mark.parametrize(
    ("socket", "expected"), [("2001:db8::1", "2001:db8::/64"), ("fe80::1%eth0", "fe80::/64"), ("", "unknown")]
)
def test_sockets_address_is_grouped_alike(rf, socket, expected):
    assert client_address.client_address(rf.get("/", REMOTE_ADDR=socket)) == expected


@pytest.mark.parametrize(
    ("network", "site"),
    [
        ("2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("address:2001:db8:1:2::/64", "address:2001:db8:1::/48"),
        ("203.0.113.9", ""),
        ("user:7", ""),
        ("somebody@example.com/64", ""),
        ("unknown", ""),
    ],
)
def test_site_of_a_network(network, site):
    assert rate_limits.site_of(network) == site


def test_a_site_has_so_many_times_the_limit_of_one_network_and_no_more(rates, who):
    rates(register="3/minute")
    site = f"2001:{who[:4]}:{who[4:8]}"

    passed = [passes("register", f"{site}:{number:x}::/64") for number in range(1, 31)]

    assert passed == [True] * 3 * rate_limits.SITE_FACTOR + [False] * (30 - 3 * rate_limits.SITE_FACTOR)
