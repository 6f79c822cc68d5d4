"""The states of a span's codes, part by part. Reads a bounded sample, so the time does not grow with the span."""

from collections.abc import Sequence
from dataclasses import dataclass

from authcodes.codes.spans import Span
from authcodes.models.batches import BatchRange
from core.db.statements import query

PARTS = 120
MAX_READ = 6000  # codes


@dataclass(frozen=True, slots=True)
class PartSample:
    """A part of a span, by index: how many codes were read, and how many of these are in each state."""

    index: int
    codes: int
    assigned: int
    scanned: int
    deactivated: int


@dataclass(frozen=True, slots=True)
class Sample:
    """`read`: how many codes were read, evenly spaced; all of a span of at most MAX_READ."""

    span: Span
    parts: Sequence[PartSample]
    part_count: int
    read: int

    def begin_of(self, part: int) -> int:
        """The first number of a part."""
        return self.span.first + -(-part * self.span.size // self.part_count)


SAMPLE_CODES = query("authcodes/codes/sql/sample_codes.sql", returns=PartSample)


def sample(batch: BatchRange, span: Span) -> Sample:
    """Sample the codes of a batch with numbers. One statement."""
    read = min(span.size, MAX_READ)
    part_count = min(span.size, PARTS)
    rows = SAMPLE_CODES.all(
        brand=batch.brand_id,
        batch=batch.pk,
        prefix=batch.prefix,
        width=batch.number_width,
        low=span.first,
        size=span.size,
        positions=read,
        parts=part_count,
    )
    return Sample(span, rows, part_count, read)
