"""Trying many codes is limited, exactly under parallel calls; known customers and valid tags are exempt."""

import time
import uuid
from contextlib import suppress

import pytest
from django.conf import settings as project

from brands.identity import guessing
from brands.identity.guessing import Exemptions, Guesser
from brands.scanned import ParsedCode
from core.errors import RateLimited
from core.redis import client, in_process_limits, rate_limits

NONE = Exemptions(lambda: False, lambda: False, lambda: False)
GOOD_TAG = Exemptions(lambda: True, lambda: False, lambda: False)
EARNED = Exemptions(lambda: False, lambda: True, lambda: False)
ESTABLISHED = Exemptions(lambda: False, lambda: True, lambda: True)


@pytest.fixture
def address():
    """An address that no test has counted before."""
    return uuid.uuid4().hex


@pytest.fixture
def rates(settings):
    def set_limits(**names):
        unlimited = dict.fromkeys(project.RATE_LIMITS, "1000000/day")
        settings.RATE_LIMITS = {**unlimited, **names}

    return set_limits


def guest(address):
    return Guesser(f"address:{address}", address, 1)


def user(address, brand_id=1):
    return Guesser(f"user:{uuid.uuid4().hex}", address, brand_id)


def passes(guesser, code="", *, exemptions=NONE, calls="scan"):
    try:
        guessing.check(guesser, reading=ParsedCode(code, "") if code else None, exemptions=exemptions, calls=calls)
    except RateLimited:
        return False
    return True


def is_answered(guesser):
    try:
        guessing.count_unknown(guesser)
    except RateLimited:
        return False
    return True


def count_allowed(guesser, codes, **options):
    return sum(passes(guesser, code, **options) for code in codes)


def numbered(first, count, *, step=1, prefix="BIS-"):
    return [f"{prefix}{number:08d}" for number in range(first, first + count * step, step)]


# --- Unknown codes ---------------------------------------------------------------------------------------------------


def test_last_unknown_code_of_the_hour_starts_a_lockout(rates, address, settings):
    rates(unknown_code="3/hour")
    guesser = user(address)
    for _ in range(3):
        assert passes(guesser)
        guessing.count_unknown(guesser)

    with pytest.raises(RateLimited) as raised:
        guessing.check(guesser, reading=None, exemptions=NONE, calls=None)

    assert settings.UNKNOWN_CODE_LOCK_SECONDS - 1 <= raised.value.retry_after <= settings.UNKNOWN_CODE_LOCK_SECONDS


def test_lockout_ends(rates, address, settings):
    rates(unknown_code="1/hour")
    settings.UNKNOWN_CODE_LOCK_SECONDS = 1
    guesser = user(address)
    guessing.count_unknown(guesser)
    time.sleep(1.1)

    assert passes(guesser)


def test_parallel_guesses_get_no_more_answers_than_the_limit(rates, address, run_concurrently):
    rates(unknown_code="20/hour")
    guesser = user(address)

    assert sum(run_concurrently(32, lambda: sum(is_answered(guesser) for _ in range(2)))) == 20


def test_customers_of_one_address_share_a_wider_limit(rates, address, run_concurrently):
    rates(unknown_code="2/hour", unknown_code_address="5/hour")

    assert sum(run_concurrently(16, lambda: is_answered(user(address)))) == 5
    assert not passes(user(address))
    assert passes(user(uuid.uuid4().hex))


def lock_network(rates, address):
    rates(unknown_code_address="3/hour")
    for _ in range(3):
        guessing.count_unknown(user(address))


def test_lockout_of_a_network_exempts_customers_in_good_standing(rates, address):
    lock_network(rates, address)

    assert not passes(user(address))
    assert passes(user(address), exemptions=EARNED)
    assert passes(user(address), exemptions=ESTABLISHED)


def test_code_with_a_valid_tag_is_exempt_from_the_lockout(rates, address):
    lock_network(rates, address)

    assert not passes(guest(address), "A-1")
    assert passes(guest(address), "A-1", exemptions=GOOD_TAG)


def test_good_standing_does_not_exempt_from_a_customers_own_lockout(rates, address):
    rates(unknown_code="1/hour")
    guesser = user(address)
    guessing.count_unknown(guesser)

    assert not passes(guesser, exemptions=ESTABLISHED)


def test_lockout_applies_to_one_brand(rates, address):
    lock_network(rates, address)

    assert not passes(user(address, brand_id=1))
    assert passes(user(address, brand_id=2))
    assert passes(user(address, brand_id=None))


# --- Plain codes -----------------------------------------------------------------------------------------------------


def test_consecutive_codes_of_a_usual_purchase_are_allowed(address):
    assert count_allowed(user(address), numbered(501, 20)) == 20
    assert count_allowed(user(address), numbered(2024, 24)) == 24


def test_consecutive_codes_are_limited(rates, address):
    rates(plain_codes_near="30/day")

    assert count_allowed(user(address), numbered(100, 100)) == 30


@pytest.mark.parametrize(("name", "codes"), [("plain_codes", 40), ("plain_codes_day", 60)])
def test_different_plain_codes_are_limited(rates, address, name, codes):
    rates(**{name: project.RATE_LIMITS[name]})

    assert count_allowed(user(address), numbered(1, 100, step=137)) == codes


def test_repeated_code_does_not_count_again(rates, address):
    rates(plain_codes="2/hour")
    guesser = user(address)

    assert [passes(guesser, code) for code in ("A-1", "A-2", "A-1", "A-2", "A-3", "A-1")] == [True] * 4 + [False, True]


def test_codes_with_a_tag_do_not_count(rates, address):
    rates(plain_codes="1/hour", plain_codes_network="1/day")
    guesser = user(address)

    for number in range(9):
        guessing.check(guesser, reading=ParsedCode(f"A-{number}", "TAG"), exemptions=NONE, calls="scan")


def test_new_accounts_in_one_network_share_its_limit(rates, address):
    rates(plain_codes_network="200/day", plain_codes_day="60/day")

    passed = [count_allowed(user(address), numbered(each * 100_000, 100, step=137)) for each in range(10)]

    assert passed == [60, 60, 60, 20] + [0] * 6


def test_established_customer_is_exempt_only_from_the_networks_limit(rates, address):
    rates(plain_codes_network="5/day", plain_codes="10/hour")
    assert count_allowed(user(address), numbered(1, 9)) == 5

    # Only the first code, which was counted before.
    assert count_allowed(user(address), numbered(1, 20, step=137), exemptions=EARNED) == 1
    assert count_allowed(user(address), numbered(1, 20, step=137), exemptions=ESTABLISHED) == 10


def test_guests_have_the_networks_limits_including_that_of_consecutive_codes(rates, address):
    rates(plain_codes_network="200/day", plain_codes_network_near="60/day", plain_codes="1/hour")

    assert count_allowed(guest(address), numbered(100, 100)) == 60
    assert count_allowed(guest(address), numbered(1000, 300, step=137)) == 140


def test_limit_of_a_brand_exempts_established_customers(rates, address):
    rates(plain_codes_brand="3/day")
    brand_id = uuid.uuid4().int

    assert [passes(user(uuid.uuid4().hex, brand_id), f"A-{n}") for n in range(5)] == [True] * 3 + [False] * 2
    assert passes(user(address, brand_id), "A-9", exemptions=ESTABLISHED)


def test_repeating_one_code_does_not_use_up_the_brands_limit(rates, address):
    """Otherwise two networks with the brand's public app key could lock out all new customers."""
    rates(plain_codes_brand="3/day")
    brand_id = uuid.uuid4().int
    site = f"2001:{address[:4]}:{address[4:8]}"
    attackers = [Guesser(f"address:{site}:{each}::/64", f"{site}:{each}::/64", brand_id) for each in "12345"]

    assert all(passes(attacker, "A-1") for attacker in attackers for _ in range(9))
    assert all(passes(user(attackers[0].address, brand_id), "A-1") for _ in range(9))

    assert [passes(user(uuid.uuid4().hex, brand_id), f"B-{n}") for n in range(4)] == [True, True, False, False]


def test_repeated_code_is_allowed_when_the_brands_limit_is_used_up(rates, address):
    rates(plain_codes_brand="1/day")
    guesser = user(address, uuid.uuid4().int)

    assert [passes(guesser, code) for code in ("A-1", "A-2", "A-1")] == [True, False, True]


def test_limits_are_exact_under_parallel_calls(rates, address, run_concurrently):
    rates(plain_codes="40/hour")
    guesser = user(address)

    passed = run_concurrently(32, lambda: count_allowed(guesser, [uuid.uuid4().hex for _ in range(5)]))

    assert sum(passed) == 40


def test_rejected_code_does_not_use_up_other_limits(rates, address):
    rates(plain_codes="1/hour", scan="3/minute")
    guesser = user(address)

    assert count_allowed(guesser, numbered(1, 9, step=137)) == 1
    assert [passes(guesser) for _ in range(3)] == [True, True, False]


def test_limit_is_restored_after_its_period(rates, address):
    rates(plain_codes="2/1second")
    guesser = user(address)
    assert count_allowed(guesser, numbered(1, 5, step=137)) == 2

    time.sleep(1.1)

    assert count_allowed(guesser, numbered(1000, 5, step=137)) == 2


def test_ipv6_site_has_the_limit_of_four_networks(rates, address):
    rates(plain_codes_network="5/day", unknown_code_address="5/hour")
    site = f"2001:{address[:4]}:{address[4:8]}"
    networks = [f"{site}:{number:x}::/64" for number in range(1, 60)]

    assert sum(passes(user(network), f"A-{network}") for network in networks) == 20
    assert sum(is_answered(user(network)) for network in networks) == 20


# --- Redis queries ---------------------------------------------------------------------------------------------------


def test_scan_needs_one_round_trip_for_all_its_limits(address, monkeypatch):
    commands, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *arguments: commands.append(arguments[0]) or command(*arguments))

    assert passes(user(address), "BIS-1")
    guessing.count_unknown(user(address))

    assert commands == ["EVALSHA", "EVALSHA"]


def test_exemptions_are_evaluated_only_when_a_limit_is_used_up(address):
    def fail():
        raise AssertionError

    assert passes(user(address), "BIS-1", exemptions=Exemptions(fail, fail, fail))


def test_checks_count_towards_the_rate_limit_of_scans(rates, address, run_concurrently):
    rates(scan="100/minute")
    guesser = user(address)

    passed = run_concurrently(32, lambda: sum(passes(guesser) for _ in range(20)))

    assert sum(passed) == 100
    with pytest.raises(RateLimited) as raised:
        rate_limits.hit("scan", guesser.identity)
    assert 55 <= raised.value.retry_after <= 60


def test_rate_limit_has_a_sliding_window(rates, address):
    rates(scan="2/1second")
    guesser = user(address)
    assert [passes(guesser) for _ in range(3)] == [True, True, False]

    time.sleep(1.1)

    assert passes(guesser)


def test_script_that_redis_no_longer_has_is_sent_again(rates, address):
    rates(scan="2/minute")
    client.client().script_flush()
    guesser = user(address)

    assert [passes(guesser) for _ in range(3)] == [True, True, False]


def test_without_redis_a_process_allows_a_part_of_each_limit(rates, address, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "outage", client.OutageState())
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    rates(plain_codes="40/hour", unknown_code="20/hour")
    in_process_limits.clear()
    guesser = user(address)

    assert count_allowed(guesser, numbered(1, 100, step=137)) == 10
    assert sum(is_answered(guesser) for _ in range(100)) == 5
    with suppress(RateLimited):
        guessing.check(user(address), reading=ParsedCode("A-1", ""), exemptions=NONE, calls="scan")
