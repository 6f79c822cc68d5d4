"""Rate limits are exact under parallel calls, say when to retry, and are counted per brand for calls with its keys."""

import time

import pytest
from django.core.cache import cache
from rest_framework.throttling import SimpleRateThrottle

from core.errors import RateLimited
from core.redis import client, rate_limits
from core.web import client_address
from tests.core.redis.conftest import brand_is_allowed, is_allowed

pytestmark = pytest.mark.usefixtures("outage")


# --- Counting --------------------------------------------------------------------------------------------------------


def test_call_over_the_limit_is_rejected_with_retry_after(set_rate_limits, unique_id):
    set_rate_limits(scan="3/minute")
    for _ in range(3):
        rate_limits.hit("scan", unique_id)

    with pytest.raises(RateLimited) as error:
        rate_limits.hit("scan", unique_id)

    assert 59 <= error.value.retry_after <= 60


def test_call_passes_once_the_retry_after_time_is_over(set_rate_limits, unique_id):
    set_rate_limits(scan="2/2second")
    rate_limits.hit("scan", unique_id)
    time.sleep(1)
    rate_limits.hit("scan", unique_id)

    with pytest.raises(RateLimited) as error:
        rate_limits.hit("scan", unique_id)
    time.sleep(error.value.retry_after)

    assert error.value.retry_after == 1
    assert [is_allowed("scan", unique_id), is_allowed("scan", unique_id)] == [True, False]


def test_sliding_window_has_no_boundary_that_doubles_the_limit(set_rate_limits, unique_id):
    """A counter per fixed window would let four calls pass around the boundary of two windows."""
    set_rate_limits(scan="2/3 second")
    time.sleep((2.5 - time.time() % 3) % 3)
    before = [is_allowed("scan", unique_id), is_allowed("scan", unique_id)]
    time.sleep(0.7)

    assert before == [True, True]
    assert not is_allowed("scan", unique_id)


def test_calls_are_counted_per_limit_and_identifier(set_rate_limits, unique_id):
    set_rate_limits(scan="1/minute", read="1/minute")
    rate_limits.hit("scan", unique_id, 1)

    assert is_allowed("scan", unique_id, 2)
    assert is_allowed("read", unique_id, 1)
    assert not is_allowed("scan", unique_id, 1)


def test_exactly_the_limit_passes_under_parallel_calls(set_rate_limits, unique_id, run_concurrently):
    set_rate_limits(campaign_event="100/minute")

    passed = run_concurrently(32, lambda: sum(is_allowed("campaign_event", unique_id) for _ in range(20)))

    assert sum(passed) == 100


def test_control_drf_throttle_lets_more_pass(unique_id, run_concurrently):
    """It reads, appends to and writes a list, so parallel calls overwrite each other's entries."""

    class Throttle(SimpleRateThrottle):
        rate = "100/min"

        def get_cache_key(self, *_):
            return unique_id

    passed = run_concurrently(32, lambda: sum(Throttle().allow_request(None, None) for _ in range(20)))

    assert sum(passed) > 100
    cache.delete(unique_id)


def test_calls_with_keys_have_an_exact_limit_per_brand(set_rate_limits, unique_id, run_concurrently):
    set_rate_limits(brand="7/minute")

    assert sum(run_concurrently(16, lambda: sum(brand_is_allowed(unique_id) for _ in range(4)))) == 7
    assert brand_is_allowed(f"{unique_id}2")


def test_app_key_calls_do_not_use_up_the_hub_limit(set_rate_limits, unique_id):
    set_rate_limits(brand="20/minute")
    networks = [f"10.0.0.{number}" for number in range(12)]

    assert sum(brand_is_allowed(unique_id, app_network=network) for network in networks for _ in range(2)) == 20
    assert not brand_is_allowed(unique_id, app_network="10.0.1.1")
    assert sum(brand_is_allowed(unique_id) for _ in range(21)) == 20


def test_one_network_may_use_a_tenth_of_the_app_key_limit(set_rate_limits, unique_id):
    set_rate_limits(brand="20/minute")

    assert [brand_is_allowed(unique_id, app_network="10.0.0.1") for _ in range(3)] == [True, True, False]
    assert brand_is_allowed(unique_id, app_network="10.0.0.2")
    assert sum(brand_is_allowed(unique_id, app_network=f"2001:db8:1:{number}::/64") for number in range(20)) == 8


def test_limit_of_a_brand_takes_one_redis_round_trip(unique_id, monkeypatch):
    commands, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *arguments: commands.append(arguments[0]) or command(*arguments))

    assert brand_is_allowed(unique_id, app_network="2001:db8::/64")
    assert set(commands) <= {"EVALSHA", "EVAL"}
    commands.clear()
    assert brand_is_allowed(unique_id, app_network="2001:db8::/64")

    assert commands == ["EVALSHA"]


# --- Client addresses ------------------------------------------------------------------------------------------------


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
def test_client_address_is_the_one_seen_by_the_outermost_trusted_proxy(rf, settings, proxies, forwarded, expected):
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}

    assert client_address.client_address(rf.get("/", headers=headers, REMOTE_ADDR="10.0.0.1")) == expected


@pytest.mark.parametrize(
    ("socket", "expected"), [("2001:db8::1", "2001:db8::/64"), ("fe80::1%eth0", "fe80::/64"), ("", "unknown")]
)
def test_socket_address_is_grouped_by_network(rf, socket, expected):
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
def test_ipv6_network_belongs_to_a_48_bit_site(network, site):
    assert rate_limits.site_of(network) == site


def test_site_is_limited_to_a_multiple_of_the_network_limit(set_rate_limits, unique_id):
    set_rate_limits(register="3/minute")
    site = f"2001:{unique_id[:4]}:{unique_id[4:8]}"

    passed = [is_allowed("register", f"{site}:{number:x}::/64") for number in range(1, 31)]

    assert passed == [True] * 3 * rate_limits.SITE_FACTOR + [False] * (30 - 3 * rate_limits.SITE_FACTOR)
