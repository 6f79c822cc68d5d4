"""What the codes of a span are, part by part: read from so many that the time does not grow with their number."""

from collections.abc import Sequence
from dataclasses import dataclass

from authcodes.codes.spans import Span
from authcodes.models.batches import BatchRange
from core.db.statements import query

PARTS = 120
MAX_READ = 6000  # codes


@dataclass(frozen=True, slots=True)
class PartSample:
    """A part of a span: how many of its codes were read, and how many of these are what."""

    part: int
    codes: int
    assigned: int
    scanned: int
    deactivated: int


@dataclass(frozen=True, slots=True)
class Sample:
    """`every`: the codes that were read lie so far apart; 1 where each one was."""

    span: Span
    parts: Sequence[PartSample]
    number: int  # of parts
    every: int

    def begin_of(self, part: int) -> int:
        """The first number of a part."""
        return self.span.first + -(-part * self.span.size // self.number)


SAMPLE_CODES = query("authcodes/codes/sql/sample_codes.sql", returns=PartSample)


def sample(batch: BatchRange, span: Span) -> Sample:
    """Of a batch with numbers. One statement."""
    read = min(span.size, MAX_READ)
    number = min(span.size, PARTS)
    rows = SAMPLE_CODES.all(
        brand=batch.brand_id,
        batch=batch.pk,
        prefix=batch.prefix,
        width=batch.number_width,
        low=span.first,
        size=span.size,
        points=read,
        parts=number,
    )
    return Sample(span, rows, number, -(-span.size // read))
