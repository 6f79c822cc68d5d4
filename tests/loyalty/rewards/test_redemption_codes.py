"""Redemption codes: how they look, how they are read, which slips are noticed."""

from itertools import combinations

from loyalty.rewards import codes as redemption_codes
from loyalty.rewards.codes import ALPHABET


def test_code_is_read_however_it_is_written():
    code = redemption_codes.new()
    spoken = redemption_codes.grouped(code).lower().replace("1", "l").replace("0", "o")

    assert redemption_codes.read(f" {spoken} ") == code
    assert redemption_codes.read(redemption_codes.grouped(code).replace("-", " ")) == code


def test_codes_hold_75_random_bits():
    codes = {redemption_codes.new() for _ in range(2000)}

    assert len(codes) == 2000
    assert {letter for code in codes for letter in code} == set(ALPHABET)
    assert {len(code) for code in codes} == {16}


def test_every_single_slip_is_noticed():
    code = redemption_codes.new()

    for place in range(16):
        for letter in set(ALPHABET) - {code[place]}:
            assert redemption_codes.read(code[:place] + letter + code[place + 1 :]) is None


def test_every_two_that_changed_places_are_noticed():
    for _ in range(20):
        code = redemption_codes.new()
        for one, other in combinations(range(16), 2):
            swapped = list(code)
            swapped[one], swapped[other] = code[other], code[one]
            if code[one] != code[other]:
                assert redemption_codes.read("".join(swapped)) is None


def test_what_is_no_code_is_none():
    for text in ("", "A", "U" * 16, "0" * 15, "0" * 17, "\0" * 16, "é" * 16, "ı" * 16, "0" * 5000):
        assert redemption_codes.read(text) is None
