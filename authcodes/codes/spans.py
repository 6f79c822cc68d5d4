"""Spans of a batch's numbers: join, remove, intersect and count them.

Joined spans are sorted, without overlaps, and with a gap between neighbours. Binary search finds the spans that a
change touches, so many changes take little longer than reading them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from authcodes.codes.numbering import numbering_of
from authcodes.models.batches import BatchRange

FIRST, LAST = attrgetter("first"), attrgetter("last")


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `first` to `last`, both inclusive."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def full_span(batch: BatchRange) -> Span:
    """The span of the generated codes. Codes printed elsewhere have no numbers and count from 1."""
    first = 1 if batch.printed_elsewhere else batch.starting_number
    return Span(first, first + batch.generated_count - 1)


def span_of(batch: BatchRange, first: str, last: str) -> Span | None:
    """The span from `first` to `last`; None if these are not a range of the batch's numbers."""
    if batch.printed_elsewhere:
        return full_span(batch) if (first, last) == (batch.first_code, batch.last_code) else None
    numbering = numbering_of(batch)
    low, high = numbering.number(first), numbering.number(last)
    return Span(low, high) if low is not None and high is not None and low <= high else None


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans that together cover the same numbers."""
    result: list[Span] = []
    for span in sorted(spans, key=FIRST):
        add(result, span)
    return result


def add(spans: list[Span], span: Span) -> None:
    """Add a span to joined spans, which stay joined."""
    met = _met(spans, span.first - 1, span.last + 1)
    ends = [span, *spans[met]]
    spans[met] = [Span(min(map(FIRST, ends)), max(map(LAST, ends)))]


def remove(spans: list[Span], taken: Span) -> None:
    """Remove numbers from joined spans, which stay joined."""
    met = _met(spans, taken.first, taken.last)
    cut = spans[met]
    before = [Span(each.first, taken.first - 1) for each in cut[:1] if each.first < taken.first]
    after = [Span(taken.last + 1, each.last) for each in cut[-1:] if each.last > taken.last]
    spans[met] = before + after


def inside(spans: Sequence[Span], bounds: Span) -> list[Span]:
    """The parts of joined spans within the bounds."""
    met = spans[_met(spans, bounds.first, bounds.last)]
    return [Span(max(span.first, bounds.first), min(span.last, bounds.last)) for span in met]


def size_of(spans: Sequence[Span]) -> int:
    """How many numbers are in spans that do not overlap."""
    return sum(span.size for span in spans)


def _met(spans: Sequence[Span], first: int, last: int) -> slice:
    """The slice of joined spans that have a number from `first` to `last`."""
    return slice(bisect_left(spans, first, key=LAST), bisect_right(spans, last, key=FIRST))
