"""Sequential codes: `<prefix><zero-padded number>`, their ranges, and whether two ranges share a code."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from authcodes.models.batches import BatchRange
from brands.scanned import MAX_CODE_LENGTH


@dataclass(frozen=True, slots=True)
class Numbering:
    """A run of `quantity` codes from `start`, each number padded with zeros to `width` digits."""

    prefix: str
    start: int
    width: int
    quantity: int

    @property
    def end(self) -> int:
        return self.start + self.quantity - 1

    @property
    def overflows(self) -> bool:
        """Whether the last number has more digits than the width: padding would not keep the codes in order."""
        return len(str(self.end)) > self.width

    @property
    def first_code(self) -> str:
        return self.code(self.start)

    @property
    def last_code(self) -> str:
        return self.code(self.end)

    def code(self, number: int) -> str:
        return f"{self.prefix}{number:0{self.width}d}"

    def number(self, code: str) -> int | None:
        """The number of a code of this shape, or None. It may lie outside the run."""
        digits = code.removeprefix(self.prefix)
        shaped = code.startswith(self.prefix) and len(digits) == self.width and digits.isascii() and digits.isdigit()
        return int(digits) if shaped else None

    def find(self, text: str) -> str | None:
        """The code of this run that `text` means: in full, without leading zeros, or as a number alone."""
        number = self.number(text)
        if number is None and _digits(text) and len(text) <= MAX_CODE_LENGTH:
            eaten = int(text) - int(self.prefix) * 10**self.width if _digits(self.prefix) else -1
            number = eaten if eaten >= 0 else int(text)
        return self.code(number) if number is not None and self.start <= number <= self.end else None

    def runs(self, codes: Iterable[str]) -> Iterator["Numbering"]:
        """Codes of this shape, unique and sorted, as runs without gaps."""
        numbers = [number for code in codes if (number := self.number(code)) is not None]
        begin = 0
        for place in range(1, len(numbers) + 1):
            if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
                yield replace(self, start=numbers[begin], quantity=place - begin)
                begin = place


def numbering_of(batch: BatchRange) -> Numbering:
    return Numbering(batch.prefix, batch.starting_number, batch.number_width, batch.quantity)


def shared(one: Numbering, other: Numbering) -> tuple[str, str] | None:
    """The first and last code in both runs, or None.

    `A` with 4 digits and `A1` with 3 write the same codes: the longer prefix may end in digits of the number.
    """
    if len(one.prefix) > len(other.prefix):
        return shared(other, one)
    extra = other.prefix.removeprefix(one.prefix)
    same_length = one.width == other.width + len(extra)
    if not (other.prefix.startswith(one.prefix) and same_length and (not extra or _digits(extra))):
        return None
    offset = int(extra or "0") * 10**other.width
    low, high = max(one.start, offset + other.start), min(one.end, offset + other.end)
    return (one.code(low), one.code(high)) if low <= high else None


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
