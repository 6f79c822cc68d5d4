"""QR symbols made from tables are equal, module for module, to those of the qrcode library."""

import random
import string
import sys

import pytest
import qrcode
from qrcode import util

from authcodes.printing.qr import encoder
from authcodes.printing.qr.encoder import Level, TooLong, symbol
from tests.support.concurrency import run_concurrently

URL = "https://scan.example.com/s/"
ALPHANUMERIC = string.ascii_uppercase + string.digits + " $%*+-./:"


def rows_by_library(text, level, *, version, mask):
    mode = util.MODE_ALPHA_NUM if set(text) <= set(ALPHANUMERIC) else util.MODE_8BIT_BYTE
    code = qrcode.QRCode(version=version, error_correction=level.value, mask_pattern=mask, border=0)
    code.add_data(util.QRData(text.encode(), mode=mode))
    code.make(fit=False)
    return ["".join("1" if dark else "0" for dark in row) for row in code.modules]


def encoder_of(text, level):
    return encoder.encoders[len(text.encode()), set(text) <= set(ALPHANUMERIC), level]


def texts(alphabet, length, count=12, *, prefix="", seed=0):
    generator = random.Random(seed)
    return [prefix + "".join(generator.choices(alphabet, k=length)) for _ in range(count)]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize(
    "similar_texts",
    [
        texts(ALPHANUMERIC, 1),
        texts(string.digits, 13),
        texts(ALPHANUMERIC, 14),
        texts(ALPHANUMERIC, 25, 6),
        texts(string.printable, 11),
        texts("äß€中😀", 3),
        texts(string.digits, 6, prefix=URL + "ABC"),
        texts(string.digits, 4, prefix=URL + "A" * 64 + "."),
        texts(string.ascii_letters, 3, 4, prefix=URL + "x" * 250),
    ],
    ids=lambda kind: f"{len(kind[0])}-{kind[0][:4]!a}",
)
def test_symbols_equal_those_of_the_library(similar_texts, level):
    for text in similar_texts:
        result = symbol(text, level)
        encoder = encoder_of(text, level)

        assert list(result.rows()) == rows_by_library(text, level, version=encoder.version, mask=encoder.mask)


@pytest.mark.parametrize("level", Level)
def test_a_symbol_has_the_smallest_possible_version(level):
    code = qrcode.QRCode(error_correction=level.value)
    code.add_data(f"{URL}0123456789ab", optimize=0)
    code.make()

    assert symbol(f"{URL}0123456789ab", level).side == code.modules_count


def test_mask_is_chosen_as_the_library_does_for_the_first_text(monkeypatch):
    monkeypatch.setattr(encoder, "encoders", {})
    code = qrcode.QRCode(error_correction=Level.M.value, border=0)
    code.add_data(f"{URL}first", optimize=0)
    code.make()

    assert list(symbol(f"{URL}first").rows()) == ["".join("1" if dark else "0" for dark in row) for row in code.modules]


def test_higher_levels_need_larger_symbols():
    sides = [symbol(URL + "0" * 30, level).side for level in (Level.L, Level.M, Level.Q, Level.H)]

    assert sides == [33, 33, 37, 41]


def test_text_too_long_for_any_symbol_is_rejected():
    with pytest.raises(TooLong, match="Choose a lower one") as error:
        symbol("x" * 3000)

    assert error.value.details == {"field": "level"}


@pytest.fixture
def frequent_thread_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("frequent_thread_switches")
def test_concurrent_threads_give_the_same_symbols_as_one_thread(monkeypatch):
    first, *other_texts = texts(ALPHANUMERIC, 8, 12, prefix=URL)
    monkeypatch.setattr(encoder, "encoders", {})
    symbol(first)
    expected = [symbol(text) for text in other_texts]
    monkeypatch.setattr(encoder, "encoders", {})
    symbol(first)

    results = run_concurrently(lambda _: [symbol(text) for text in other_texts], range(2))

    assert results == [expected, expected]


def test_number_of_cached_encoders_is_limited(monkeypatch):
    monkeypatch.setattr(encoder, "encoders", {})
    monkeypatch.setattr(encoder, "MAX_ENCODERS", 3)

    for length in range(1, 9):
        symbol("A" * length)

    assert len(encoder.encoders) <= 3
