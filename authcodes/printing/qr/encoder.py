"""QR symbols in large numbers: tables make each further symbol a few exclusive-ors (ISO/IEC 18004).

At one version, level and mask a symbol is an affine function of its data bits: error correction, interleaving and
masking are exclusive-ors. So the `qrcode` library draws one symbol, and once more for each data bit what it changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace

import qrcode
from django.utils.translation import gettext_lazy as _
from qrcode import util
from qrcode.base import rs_blocks
from qrcode.exceptions import DataOverflowError

from core.errors import Invalid

QUIET_ZONE = 4  # modules of white on each side
MAX_ENCODERS = 64  # retained; a table is 256 symbols for each character that differs
ALPHANUMERIC = {character: value for value, character in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")}


class Level(Enum):
    """How much of a symbol may be damaged: 7, 15, 25 or 30 percent."""

    L = qrcode.constants.ERROR_CORRECT_L
    M = qrcode.constants.ERROR_CORRECT_M
    Q = qrcode.constants.ERROR_CORRECT_Q
    H = qrcode.constants.ERROR_CORRECT_H


@dataclass(frozen=True, slots=True)
class Symbol:
    """`side` modules a side, without quiet zone. `bits` row by row from the top left, highest bit first; 1 is dark."""

    side: int
    bits: int

    def rows(self) -> Iterator[str]:
        """Each row as text of 0 and 1."""
        text = f"{self.bits:0{self.side * self.side}b}"
        return (text[start : start + self.side] for start in range(0, len(text), self.side))


class TooLong(Invalid):
    """The text is too long for a QR symbol at this level. Ours never are; texts printed elsewhere may be."""

    default_message = _("The content is too long for a QR code at this error correction. Choose a lower one.")


def symbol(text: str, level: Level = Level.M) -> Symbol:
    """The smallest symbol for `text` at `level`. Raises TooLong."""
    data = text.encode()
    return _encoder(text, data, level).symbol(text, data)


def side(text: str, level: Level = Level.M) -> int:
    """The modules a side of `symbol`, without drawing it. Raises TooLong."""
    modules: int = _encoder(text, text.encode(), level).side
    return modules


def _encoder(text: str, data: bytes, level: Level) -> "Encoder":
    alphanumeric = all(character in ALPHANUMERIC for character in text)
    kind = len(data), alphanumeric, level
    encoder = encoders.get(kind)
    if encoder is None:
        if len(encoders) >= MAX_ENCODERS:
            encoders.clear()
        encoder = encoders[kind] = Encoder(text, alphanumeric=alphanumeric, level=level)
    return encoder


class Encoder:
    """Makes the symbols of all texts as long as `sample`. Tables for differing characters are filled when needed.

    Threads share it: only complete tables are added, and each drawing uses its own object of the library.
    """

    def __init__(self, sample: str, *, alphanumeric: bool, level: Level) -> None:
        data = sample.encode()
        self.length, self.alphanumeric = len(data), alphanumeric
        self.mode = util.MODE_ALPHA_NUM if alphanumeric else util.MODE_8BIT_BYTE
        self.level = level
        code = qrcode.QRCode(error_correction=level.value)
        code.add_data(util.QRData(data, mode=self.mode))
        try:
            self.version = code.best_fit()
        except (DataOverflowError, ValueError) as error:
            raise TooLong(details={"field": "level"}) from error
        self.blocks = rs_blocks(self.version, level.value)
        self.capacity = sum(block.data_count for block in self.blocks)
        self.count_bits = util.length_in_bits(self.mode, self.version)
        self.mask = code.best_mask_pattern()
        self.side = self.version * 4 + 17
        self.start = self.codewords(sample, data)
        self.drawn = self.draw(self.start)
        self.tables: dict[int, list[int]] = {}

    def symbol(self, text: str, data: bytes) -> Symbol:
        bits = self.drawn
        for place, (codeword, start) in enumerate(zip(self.codewords(text, data), self.start, strict=True)):
            if codeword != start:
                bits ^= (self.tables.get(place) or self.table(place))[codeword ^ start]
        return Symbol(self.side, bits)

    def codewords(self, text: str, data: bytes) -> bytes:
        """Mode, length, text, terminator and padding, without error correction."""
        stream = self.mode << self.count_bits | self.length
        used = 4 + self.count_bits
        if self.alphanumeric:
            values = [ALPHANUMERIC[character] for character in text]
            for first, second in zip(values[::2], values[1::2], strict=False):
                stream = stream << 11 | first * 45 + second
            used += len(values) // 2 * 11
            if len(values) % 2:
                stream, used = stream << 6 | values[-1], used + 6
        else:
            stream, used = stream << 8 * len(data) | int.from_bytes(data), used + 8 * len(data)
        end = min(4, self.capacity * 8 - used)
        end += -(used + end) % 8
        filled: bytes = (stream << end).to_bytes((used + end) // 8)
        padding: bytes = (b"\xec\x11" * self.capacity)[: self.capacity - len(filled)]
        return filled + padding

    def table(self, place: int) -> list[int]:
        """For the codeword at `place`: what an exclusive-or with each byte value changes in the symbol."""
        changes = [0] * 256
        for bit in range(8):
            changed = bytearray(self.start)
            changed[place] ^= 1 << bit
            changes[1 << bit] = self.draw(bytes(changed)) ^ self.drawn
        for value in range(256):
            lowest = value & -value
            changes[value] = changes[lowest] ^ changes[value ^ lowest] if value != lowest else changes[value]
        # Two threads may both compute it, with the same result.
        self.tables[place] = changes
        return changes

    def draw(self, codewords: bytes) -> int:
        """Draw with the library: error correction, placement, mask."""
        # Not reused: it stores what it draws, so two threads would draw into each other's symbol.
        code = qrcode.QRCode(version=self.version, error_correction=self.level.value)
        code.data_cache = util.create_bytes(SimpleNamespace(buffer=list(codewords)), self.blocks)
        code.makeImpl(False, self.mask)  # noqa: FBT003 - the library's signature
        return int("".join("1" if dark else "0" for row in code.modules for dark in row), 2)


encoders: dict[tuple[int, bool, Level], Encoder] = {}
