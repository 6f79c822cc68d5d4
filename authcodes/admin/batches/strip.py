"""The strip of a batch's page: its codes from first to last, as stacked lanes and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from authcodes.codes.numbering import numbering_of
from authcodes.codes.samples import PartSample, Sample, sample
from authcodes.codes.spans import Span, inside, size_of
from authcodes.models.batches import BatchRange
from core.numbers import format_number

WIDTH, LANE_HEIGHT, LANE_GAP = 1200, 16, 6
MIN_WIDTH = 3  # of a box, so that a single code among a million is visible
MIN_GAP = 1  # between boxes, about a pixel
MIN_OPACITY = 0.25
TABLE_ROWS = 10
LANES = {
    "assigned": gettext_lazy("Assigned"),
    "printed": gettext_lazy("Printed"),
    "delivered": gettext_lazy("In the shops"),
    "scanned": gettext_lazy("Scanned"),
    "deactivated": gettext_lazy("Deactivated"),
    "recalled": gettext_lazy("Recalled"),
}
SPAN_LANES = {"printed", "delivered", "recalled"}  # exact spans; the other lanes are read from a sample


@dataclass(frozen=True, slots=True)
class Box:
    x: str
    width: str
    opacity: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """`name`: the key of its colour in batch.css."""

    name: str
    title: str
    y: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A table row: a code range and, for each lane, the percentage of its codes in that state."""

    first: str
    last: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """`low`, `size`, `prefix`, `digits`: what the page's script needs to derive a code from its position.

    `read`: how many of its `size` codes were read.
    """

    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    first: str
    last: str
    low: int
    size: int
    prefix: str
    digits: int
    read: int
    is_part: bool
    width: int = WIDTH
    lane_height: int = LANE_HEIGHT

    @property
    def read_text(self) -> str:
        return format_number(self.read)

    @property
    def size_text(self) -> str:
        return format_number(self.size)

    @property
    def height(self) -> int:
        return len(self.lanes) * (LANE_HEIGHT + LANE_GAP) - LANE_GAP


def strip_of(batch: BatchRange, span: Span, spans: Mapping[str, Sequence[Span]], *, is_part: bool) -> Strip:
    """The strip of a code range of a numbered batch. Runs one statement. `is_part`: the batch has more codes.

    `spans`: printed codes if the user may see them, delivered codes, and the recalled part if there is one.
    """
    sampled = sample(batch, span)
    numbering = numbering_of(batch)
    inner = {name: inside(joined_spans, span) for name, joined_spans in spans.items()}
    lanes: list[Lane] = []
    for name, title in LANES.items():
        if name in SPAN_LANES and name not in inner:
            continue
        is_span = name in SPAN_LANES
        boxes = span_boxes(inner[name], span, title) if is_span else part_boxes(sampled, name, title)
        lanes.append(Lane(name, str(title), len(lanes) * (LANE_HEIGHT + LANE_GAP), boxes))
    return Strip(
        lanes=tuple(lanes),
        rows=rows_of(sampled, numbering, inner, lanes),
        first=numbering.code(span.first),
        last=numbering.code(span.last),
        low=span.first,
        size=span.size,
        prefix=batch.prefix,
        digits=batch.number_width,
        read=sampled.read,
        is_part=is_part,
    )


def span_boxes(spans: Sequence[Span], bounds: Span, title: Any) -> tuple[Box, ...]:
    """A box for each span. Spans too close to tell apart share a box, darker the more of its codes are in a span."""
    min_gap = MIN_GAP * bounds.size / WIDTH
    min_width = MIN_WIDTH * bounds.size / WIDTH
    boxes: list[list[int]] = []  # first and last number, and how many between them are in a span
    for each in spans:
        if boxes and each.first < max(boxes[-1][1] + 1, boxes[-1][0] + min_width) + min_gap:
            boxes[-1][1:] = [each.last, boxes[-1][2] + each.size]
        else:
            boxes.append([each.first, each.last, each.size])
    return tuple(
        box(
            (first - bounds.first) / bounds.size,
            (last - first + 1) / bounds.size,
            opacity_of(number / (last - first + 1)),
            f"{title}: {format_number(number)}",
        )
        for first, last, number in boxes
    )


def part_boxes(sampled: Sample, state: str, title: Any) -> tuple[Box, ...]:
    """A box for each run of parts with equal shares: the higher the share, the darker the box. `state`: of a code."""
    shares: dict[int, float] = {
        part.index: getattr(part, state) / part.codes for part in sampled.parts if part.codes and getattr(part, state)
    }
    boxes, begin = [], 0
    for part in range(1, sampled.part_count + 1):
        if part < sampled.part_count and shares.get(part) == shares.get(begin):
            continue
        if of_run := shares.get(begin):
            place, width = begin / sampled.part_count, (part - begin) / sampled.part_count
            boxes.append(box(place, width, opacity_of(of_run), f"{title}: {percent_text(of_run)}"))
        begin = part
    return tuple(boxes)


def box(place: float, width: float, opacity: float, title: str) -> Box:
    """Positions and widths are fractions of the whole."""
    wide = max(MIN_WIDTH, width * WIDTH)
    return Box(f"{min(place * WIDTH, WIDTH - wide):.1f}", f"{wide:.1f}", f"{opacity:.2f}", title)


def opacity_of(share: float) -> float:
    return MIN_OPACITY + (1 - MIN_OPACITY) * share


def percent_text(share: float) -> str:
    """A share near 0 or 1 is never rounded to 0 % or 100 %."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{format_number(round(100 * share))} %"


def rows_of(
    sampled: Sample, numbering: Any, inner: Mapping[str, Sequence[Span]], lanes: Sequence[Lane]
) -> tuple[Row, ...]:
    """At most TABLE_ROWS rows, each of whole parts."""
    by_part = {part.index: part for part in sampled.parts}
    step = -(-sampled.part_count // TABLE_ROWS)
    rows = []
    for begin in range(0, sampled.part_count, step):
        end = min(begin + step, sampled.part_count)
        bounds = Span(sampled.begin_of(begin), min(sampled.begin_of(end) - 1, sampled.span.last))
        parts = [by_part[part] for part in range(begin, end) if part in by_part]
        cells = tuple(
            percent_text(size_of(inside(inner[lane.name], bounds)) / bounds.size)
            if lane.name in inner
            else sampled_percent(parts, lane.name)
            for lane in lanes
        )
        rows.append(Row(numbering.code(bounds.first), numbering.code(bounds.last), cells))
    return tuple(rows)


def sampled_percent(parts: Sequence[PartSample], state: str) -> str:
    """The share of the sampled codes in this state; a dash if no code was read."""
    read = sum(part.codes for part in parts)
    return percent_text(sum(getattr(part, state) for part in parts) / read) if read else "-"
