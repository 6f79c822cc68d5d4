"""Spans of a batch's numbers: what several of them cover together, what is left without others, and where they lie.

Joined spans are in order, without overlaps, and with a gap between each and the next. A search by
halves finds those that a change meets, so that many changes take not much longer than reading them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from authcodes.codes.history import numbering_of
from authcodes.models.batches import BatchRange

FIRST, LAST = attrgetter("first"), attrgetter("last")


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def full_span(batch: BatchRange) -> Span:
    """Of the codes that are generated. A batch that was printed elsewhere has no numbers: its codes count from 1."""
    first = 1 if batch.printed_elsewhere else batch.starting_number
    return Span(first, first + batch.generated_count - 1)


def span_of(batch: BatchRange, first: str, last: str) -> Span | None:
    """Of the codes from `first` to `last`; None for what is no code range of the batch's numbers."""
    if batch.printed_elsewhere:
        return full_span(batch) if (first, last) == (batch.first_code, batch.last_code) else None
    numbering = numbering_of(batch)
    low, high = numbering.number(first), numbering.number(last)
    return Span(low, high) if low is not None and high is not None and low <= high else None


def joined(spans: Iterable[Span]) -> list[Span]:
    """What they cover."""
    result: list[Span] = []
    for span in sorted(spans, key=FIRST):
        add(result, span)
    return result


def add(spans: list[Span], span: Span) -> None:
    """Put a span into joined ones, which stay joined."""
    met = _met(spans, span.first - 1, span.last + 1)
    ends = [span, *spans[met]]
    spans[met] = [Span(min(map(FIRST, ends)), max(map(LAST, ends)))]


def remove(spans: list[Span], taken: Span) -> None:
    """Take numbers out of joined spans, which stay joined."""
    met = _met(spans, taken.first, taken.last)
    cut = spans[met]
    before = [Span(each.first, taken.first - 1) for each in cut[:1] if each.first < taken.first]
    after = [Span(taken.last + 1, each.last) for each in cut[-1:] if each.last > taken.last]
    spans[met] = before + after


def inside(spans: Sequence[Span], bounds: Span) -> list[Span]:
    """What of joined spans lies within the bounds."""
    met = spans[_met(spans, bounds.first, bounds.last)]
    return [Span(max(span.first, bounds.first), min(span.last, bounds.last)) for span in met]


def size_of(spans: Sequence[Span]) -> int:
    """How many numbers lie in spans that do not overlap."""
    return sum(span.size for span in spans)


def _met(spans: Sequence[Span], first: int, last: int) -> slice:
    """Where in joined spans those are that have a number from `first` to `last`."""
    return slice(bisect_left(spans, first, key=LAST), bisect_right(spans, last, key=FIRST))
