"""Spans of a batch's numbers: what several of them cover together, what is left without others, and where they lie."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from authcodes.codes.history import numbering_of
from authcodes.models.batches import BatchRange


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
    """Of the codes from `first` to `last`; None for what is no stretch of the batch's numbers."""
    if batch.printed_elsewhere:
        return full_span(batch) if (first, last) == (batch.first_code, batch.last_code) else None
    numbering = numbering_of(batch)
    low, high = numbering.number(first), numbering.number(last)
    return Span(low, high) if low is not None and high is not None and low <= high else None


def joined(spans: Iterable[Span]) -> list[Span]:
    """What they cover, in order and without overlaps."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.first, each.last)):
        if result and span.first <= result[-1].last + 1:
            result[-1] = Span(result[-1].first, max(result[-1].last, span.last))
        else:
            result.append(span)
    return result


def without(spans: Iterable[Span], taken: Span) -> list[Span]:
    """What is left of each."""
    result = []
    for span in spans:
        if span.last < taken.first or span.first > taken.last:
            result.append(span)
            continue
        if span.first < taken.first:
            result.append(Span(span.first, taken.first - 1))
        if span.last > taken.last:
            result.append(Span(taken.last + 1, span.last))
    return result


def inside(spans: Iterable[Span], bounds: Span) -> list[Span]:
    """What of each lies within the bounds."""
    cut = (Span(max(span.first, bounds.first), min(span.last, bounds.last)) for span in spans)
    return [span for span in cut if span.size > 0]


def size_of(spans: Sequence[Span]) -> int:
    """How many numbers lie in spans that do not overlap."""
    return sum(span.size for span in spans)
