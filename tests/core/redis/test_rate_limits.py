"""Limits hold exactly under parallel calls, tell when to come back, and are the brand's own for its keys."""

import time

import pytest
from django.core.cache import cache
from rest_framework.throttling import SimpleRateThrottle

from core.errors import RateLimited
from core.redis import client, rate_limits
from core.web import client_address
from tests.core.redis.conftest import brand_passes, passes

pytestmark = pytest.mark.usefixtures("outage")


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
    commands, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *arguments: commands.append(arguments[0]) or command(*arguments))

    assert brand_passes(who, app_in="2001:db8::/64")
    assert set(commands) <= {"EVALSHA", "EVAL"}
    commands.clear()
    assert brand_passes(who, app_in="2001:db8::/64")

    assert commands == ["EVALSHA"]


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
