"""Who tries many codes is stopped, exactly under parallel calls; who is known, or has a good tag, is not."""

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
def who():
    """A name that no test has counted before."""
    return uuid.uuid4().hex


@pytest.fixture
def rates(settings):
    def give(**names):
        wide = dict.fromkeys(project.RATE_LIMITS, "1000000/day")
        settings.RATE_LIMITS = {**wide, **names}

    return give


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


def answered(guesser):
    try:
        guessing.count_unknown(guesser)
    except RateLimited:
        return False
    return True


def tried(guesser, codes, **given):
    return sum(passes(guesser, code, **given) for code in codes)


def numbered(first, count, *, step=1, prefix="BIS-"):
    return [f"{prefix}{number:08d}" for number in range(first, first + count * step, step)]


# --- Unknown codes ---------------------------------------------------------------------------------------------------


def test_last_unknown_code_of_the_hour_locks(rates, who, settings):
    rates(unknown_code="3/hour")
    guesser = user(who)
    for _ in range(3):
        assert passes(guesser)
        guessing.count_unknown(guesser)

    with pytest.raises(RateLimited) as refusal:
        guessing.check(guesser, reading=None, exemptions=NONE, calls=None)

    assert settings.UNKNOWN_CODE_LOCK_SECONDS - 1 <= refusal.value.retry_after <= settings.UNKNOWN_CODE_LOCK_SECONDS


def test_lock_ends(rates, who, settings):
    rates(unknown_code="1/hour")
    settings.UNKNOWN_CODE_LOCK_SECONDS = 1
    guesser = user(who)
    guessing.count_unknown(guesser)
    time.sleep(1.1)

    assert passes(guesser)


def test_parallel_guesses_get_no_more_answers_than_the_limit(rates, who, at_once):
    rates(unknown_code="20/hour")
    guesser = user(who)

    assert sum(at_once(32, lambda: sum(answered(guesser) for _ in range(2)))) == 20


def test_customers_of_one_address_guess_together_under_a_wider_limit(rates, who, at_once):
    rates(unknown_code="2/hour", unknown_code_address="5/hour")

    assert sum(at_once(16, lambda: answered(user(who)))) == 5
    assert not passes(user(who))
    assert passes(user(uuid.uuid4().hex))


def locked_network(rates, who):
    rates(unknown_code_address="3/hour")
    for _ in range(3):
        guessing.count_unknown(user(who))


def test_two_hundred_guesses_of_others_lock_no_customer_in_good_standing(rates, who):
    locked_network(rates, who)

    assert not passes(user(who))
    assert passes(user(who), exemptions=EARNED)
    assert passes(user(who), exemptions=ESTABLISHED)


def test_a_code_with_a_good_tag_is_in_no_lock(rates, who):
    locked_network(rates, who)

    assert not passes(guest(who), "A-1")
    assert passes(guest(who), "A-1", exemptions=GOOD_TAG)


def test_good_standing_does_not_excuse_ones_own_guesses(rates, who):
    rates(unknown_code="1/hour")
    guesser = user(who)
    guessing.count_unknown(guesser)

    assert not passes(guesser, exemptions=ESTABLISHED)


def test_a_lock_is_of_one_brand(rates, who):
    locked_network(rates, who)

    assert not passes(user(who, brand_id=1))
    assert passes(user(who, brand_id=2))
    assert passes(user(who, brand_id=None))


# --- Plain codes -----------------------------------------------------------------------------------------------------


def test_a_customer_with_twenty_bottles_and_a_shop_with_a_carton_pass(who):
    assert tried(user(who), numbered(501, 20)) == 20
    assert tried(user(who), numbered(2024, 24)) == 24


def test_numbers_that_follow_each_other_end_at_their_budget(rates, who):
    rates(plain_codes_near="30/day")

    assert tried(user(who), numbered(100, 100)) == 30


@pytest.mark.parametrize(("name", "codes"), [("plain_codes", 40), ("plain_codes_day", 60)])
def test_different_plain_codes_end_at_their_budget(rates, who, name, codes):
    rates(**{name: project.RATE_LIMITS[name]})

    assert tried(user(who), numbered(1, 100, step=137)) == codes


def test_the_same_code_again_is_no_other_one(rates, who):
    rates(plain_codes="2/hour")
    guesser = user(who)

    assert [passes(guesser, code) for code in ("A-1", "A-2", "A-1", "A-2", "A-3", "A-1")] == [True] * 4 + [False, True]


def test_codes_with_a_tag_count_for_nothing(rates, who):
    rates(plain_codes="1/hour", plain_codes_network="1/day")
    guesser = user(who)

    for number in range(9):
        guessing.check(guesser, reading=ParsedCode(f"A-{number}", "TAG"), exemptions=NONE, calls="scan")


def test_new_accounts_behind_one_network_share_its_budget(rates, who):
    rates(plain_codes_network="200/day", plain_codes_day="60/day")

    passed = [tried(user(who), numbered(each * 100_000, 100, step=137)) for each in range(10)]

    assert passed == [60, 60, 60, 20] + [0] * 6


def test_who_is_known_for_some_time_passes_over_the_networks_budget_but_not_over_their_own(rates, who):
    rates(plain_codes_network="5/day", plain_codes="10/hour")
    assert tried(user(who), numbered(1, 9)) == 5

    assert tried(user(who), numbered(1, 20, step=137), exemptions=EARNED) == 1  # the code that is known already
    assert tried(user(who), numbered(1, 20, step=137), exemptions=ESTABLISHED) == 10


def test_guests_have_the_networks_budget_and_that_of_following_numbers(rates, who):
    rates(plain_codes_network="200/day", plain_codes_network_near="60/day", plain_codes="1/hour")

    assert tried(guest(who), numbered(100, 100)) == 60
    assert tried(guest(who), numbered(1000, 300, step=137)) == 140


def test_a_brands_budget_stops_those_who_are_new(rates, who):
    rates(plain_codes_brand="3/day")
    brand_id = uuid.uuid4().int

    assert [passes(user(uuid.uuid4().hex, brand_id), f"A-{n}") for n in range(5)] == [True] * 3 + [False] * 2
    assert passes(user(who, brand_id), "A-9", exemptions=ESTABLISHED)


def test_one_code_over_and_over_uses_up_no_budget_of_the_brand(rates, who):
    """Else two networks with the brand's public app key would shut out everybody who is new."""
    rates(plain_codes_brand="3/day")
    brand_id = uuid.uuid4().int
    site = f"2001:{who[:4]}:{who[4:8]}"
    attackers = [Guesser(f"address:{site}:{each}::/64", f"{site}:{each}::/64", brand_id) for each in "12345"]

    assert all(passes(attacker, "A-1") for attacker in attackers for _ in range(9))
    assert all(passes(user(attackers[0].address, brand_id), "A-1") for _ in range(9))

    assert [passes(user(uuid.uuid4().hex, brand_id), f"B-{n}") for n in range(4)] == [True, True, False, False]


def test_a_code_that_is_known_passes_where_the_brands_budget_is_used_up(rates, who):
    rates(plain_codes_brand="1/day")
    guesser = user(who, uuid.uuid4().int)

    assert [passes(guesser, code) for code in ("A-1", "A-2", "A-1")] == [True, False, True]


def test_budgets_hold_exactly_under_parallel_calls(rates, who, at_once):
    rates(plain_codes="40/hour")
    guesser = user(who)

    passed = at_once(32, lambda: tried(guesser, [uuid.uuid4().hex for _ in range(5)]))

    assert sum(passed) == 40


def test_a_refused_code_uses_nothing_up(rates, who):
    rates(plain_codes="1/hour", scan="3/minute")
    guesser = user(who)

    assert tried(guesser, numbered(1, 9, step=137)) == 1
    assert [passes(guesser) for _ in range(3)] == [True, True, False]


def test_the_budget_comes_back(rates, who):
    rates(plain_codes="2/1second")
    guesser = user(who)
    assert tried(guesser, numbered(1, 5, step=137)) == 2

    time.sleep(1.1)

    assert tried(guesser, numbered(1000, 5, step=137)) == 2


def test_a_site_of_ipv6_has_four_networks_budget(rates, who):
    rates(plain_codes_network="5/day", unknown_code_address="5/hour")
    site = f"2001:{who[:4]}:{who[4:8]}"
    networks = [f"{site}:{number:x}::/64" for number in range(1, 60)]

    assert sum(passes(user(network), f"A-{network}") for network in networks) == 20
    assert sum(answered(user(network)) for network in networks) == 20


# --- What it costs ---------------------------------------------------------------------------------------------------


def test_a_scan_is_one_round_trip_whatever_is_counted(who, monkeypatch):
    commands, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *arguments: commands.append(arguments[0]) or command(*arguments))

    assert passes(user(who), "BIS-1")
    guessing.count_unknown(user(who))

    assert commands == ["EVALSHA", "EVALSHA"]


def test_excuses_are_asked_only_where_a_budget_is_used_up(who):
    def ask():
        raise AssertionError

    assert passes(user(who), "BIS-1", exemptions=Exemptions(ask, ask, ask))


def test_a_call_counts_as_any_other(rates, who, at_once):
    rates(scan="100/minute")
    guesser = user(who)

    passed = at_once(32, lambda: sum(passes(guesser) for _ in range(20)))

    assert sum(passed) == 100
    with pytest.raises(RateLimited) as refusal:
        rate_limits.hit("scan", guesser.identity)
    assert 55 <= refusal.value.retry_after <= 60


def test_a_window_moves(rates, who):
    rates(scan="2/1second")
    guesser = user(who)
    assert [passes(guesser) for _ in range(3)] == [True, True, False]

    time.sleep(1.1)

    assert passes(guesser)


def test_a_script_that_redis_has_forgotten_is_sent_again(rates, who):
    rates(scan="2/minute")
    client.client().script_flush()
    guesser = user(who)

    assert [passes(guesser) for _ in range(3)] == [True, True, False]


def test_while_redis_is_away_a_process_lets_a_part_of_each_budget_pass(rates, who, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "outage", client.OutageState())
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    rates(plain_codes="40/hour", unknown_code="20/hour")
    in_process_limits.clear()
    guesser = user(who)

    assert tried(guesser, numbered(1, 100, step=137)) == 10
    assert sum(answered(guesser) for _ in range(100)) == 5
    with suppress(RateLimited):
        guessing.check(user(who), reading=ParsedCode("A-1", ""), exemptions=NONE, calls="scan")
