"""QR symbols from tables are, module for module, what the qrcode library draws."""

import random
import string
import sys

import pytest
import qrcode
from qrcode import util

from authcodes.printing.qr import encoder
from authcodes.printing.qr.encoder import Level, TooLong, symbol
from tests.support.concurrency import at_once

URL = "https://scan.example.com/s/"
ALPHANUMERIC = string.ascii_uppercase + string.digits + " $%*+-./:"


def by_library(text, level, *, version, mask):
    mode = util.MODE_ALPHA_NUM if set(text) <= set(ALPHANUMERIC) else util.MODE_8BIT_BYTE
    code = qrcode.QRCode(version=version, error_correction=level.value, mask_pattern=mask, border=0)
    code.add_data(util.QRData(text.encode(), mode=mode))
    code.make(fit=False)
    return ["".join("1" if dark else "0" for dark in row) for row in code.modules]


def encoder_of(text, level):
    return encoder.encoders[len(text.encode()), set(text) <= set(ALPHANUMERIC), level]


def texts(alphabet, length, count=12, *, prefix="", seed=0):
    chosen = random.Random(seed)
    return [prefix + "".join(chosen.choices(alphabet, k=length)) for _ in range(count)]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize(
    "of_a_kind",
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
def test_each_symbol_is_the_librarys(of_a_kind, level):
    for text in of_a_kind:
        drawn = symbol(text, level)
        encoder = encoder_of(text, level)

        assert list(drawn.rows()) == by_library(text, level, version=encoder.version, mask=encoder.mask)


@pytest.mark.parametrize("level", Level)
def test_a_symbol_is_the_smallest_that_holds_its_text(level):
    code = qrcode.QRCode(error_correction=level.value)
    code.add_data(f"{URL}0123456789ab", optimize=0)
    code.make()

    assert symbol(f"{URL}0123456789ab", level).side == code.modules_count


def test_the_first_of_a_kind_chooses_the_mask_as_the_library_does(monkeypatch):
    monkeypatch.setattr(encoder, "encoders", {})
    code = qrcode.QRCode(error_correction=Level.M.value, border=0)
    code.add_data(f"{URL}first", optimize=0)
    code.make()

    assert list(symbol(f"{URL}first").rows()) == ["".join("1" if dark else "0" for dark in row) for row in code.modules]


def test_higher_levels_need_larger_symbols():
    sides = [symbol(URL + "0" * 30, level).side for level in (Level.L, Level.M, Level.Q, Level.H)]

    assert sides == [33, 33, 37, 41]


def test_more_than_any_symbol_holds_is_refused():
    with pytest.raises(TooLong):
        symbol("x" * 3000)


@pytest.fixture
def threads_take_turns_often():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("threads_take_turns_often")
def test_threads_that_fill_the_same_tables_draw_the_same_symbols_as_one_alone(monkeypatch):
    first, *others = texts(ALPHANUMERIC, 8, 12, prefix=URL)
    monkeypatch.setattr(encoder, "encoders", {})
    symbol(first)
    alone = [symbol(text) for text in others]
    monkeypatch.setattr(encoder, "encoders", {})
    symbol(first)

    together = at_once(lambda _: [symbol(text) for text in others], range(2))

    assert together == [alone, alone]


def test_encoders_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(encoder, "encoders", {})
    monkeypatch.setattr(encoder, "MAX_ENCODERS", 3)

    for length in range(1, 9):
        symbol("A" * length)

    assert len(encoder.encoders) <= 3
