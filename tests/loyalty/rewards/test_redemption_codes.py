"""Redemption codes: their format, how they are parsed, and which typing errors are detected."""

from itertools import combinations

from loyalty.rewards import codes as redemption_codes
from loyalty.rewards.codes import ALPHABET


def test_code_is_parsed_with_any_case_spacing_and_similar_letters():
    code = redemption_codes.new()
    dictated = redemption_codes.grouped(code).lower().replace("1", "l").replace("0", "o")

    assert redemption_codes.read(f" {dictated} ") == code
    assert redemption_codes.read(redemption_codes.grouped(code).replace("-", " ")) == code


def test_codes_are_unique_and_use_the_whole_alphabet():
    codes = {redemption_codes.new() for _ in range(2000)}

    assert len(codes) == 2000
    assert {letter for code in codes for letter in code} == set(ALPHABET)
    assert {len(code) for code in codes} == {16}


def test_every_single_wrong_character_is_detected():
    code = redemption_codes.new()

    for position in range(16):
        for letter in set(ALPHABET) - {code[position]}:
            assert redemption_codes.read(code[:position] + letter + code[position + 1 :]) is None


def test_every_swap_of_two_characters_is_detected():
    for _ in range(20):
        code = redemption_codes.new()
        for first, second in combinations(range(16), 2):
            swapped = list(code)
            swapped[first], swapped[second] = code[second], code[first]
            if code[first] != code[second]:
                assert redemption_codes.read("".join(swapped)) is None


def test_invalid_code_is_parsed_as_none():
    for text in ("", "A", "U" * 16, "0" * 15, "0" * 17, "\0" * 16, "é" * 16, "ı" * 16, "0" * 5000):
        assert redemption_codes.read(text) is None
