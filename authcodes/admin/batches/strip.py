"""The strip of a batch's page: its codes from the first to the last as lanes, one above the other, and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from authcodes.codes.history import numbering_of
from authcodes.codes.samples import PartSample, Sample, sample
from authcodes.codes.spans import Span, inside, size_of
from authcodes.models.batches import BatchRange
from core.numbers import format_number

WIDTH, LANE_HEIGHT, LANE_GAP = 1200, 16, 6
MIN_WIDTH = 3  # of a box, so that a single code of a million is seen
MIN_GAP = 1  # between boxes: about a pixel
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
SPAN_LANES = {"printed", "delivered", "recalled"}  # known to the code; the others are read from a sample


@dataclass(frozen=True, slots=True)
class Box:
    x: str
    width: str
    opacity: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """`name`: of its colour in batch.css."""

    name: str
    title: str
    y: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: a code range, and the share of its codes, in percent, for each lane."""

    first: str
    last: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """`low`, `size`, `prefix`, `digits`: what its script needs to name a code by its place."""

    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    first: str
    last: str
    low: int
    size: int
    prefix: str
    digits: int
    every: int
    is_part: bool
    width: int = WIDTH
    lane_height: int = LANE_HEIGHT

    @property
    def every_text(self) -> str:
        return format_number(self.every)

    @property
    def height(self) -> int:
        return len(self.lanes) * (LANE_HEIGHT + LANE_GAP) - LANE_GAP


@dataclass(frozen=True, slots=True)
class CodeState:
    """What a lane of codes shows: a name, a title, and how many codes of a part are so."""

    name: str
    title: Any

    def of(self, part: PartSample) -> int:
        number: int = getattr(part, self.name)
        return number


def strip_of(batch: BatchRange, span: Span, spans: Mapping[str, Sequence[Span]], *, is_part: bool) -> Strip:
    """Of a code range of a batch with numbers; `is_part`: the batch has more codes. One statement.

    `spans`: what is printed, unless whoever looks may not see that, what is delivered, and which part is recalled.
    """
    sampled = sample(batch, span)
    numbering = numbering_of(batch)
    inner = {name: inside(joined_spans, span) for name, joined_spans in spans.items()}
    lanes: list[Lane] = []
    for name, title in LANES.items():
        if name in SPAN_LANES and name not in inner:
            continue
        is_span = name in SPAN_LANES
        boxes = span_boxes(inner[name], span, title) if is_span else part_boxes(sampled, CodeState(name, title))
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
        every=sampled.sampling_step,
        is_part=is_part,
    )


def span_boxes(spans: Sequence[Span], bounds: Span, title: Any) -> tuple[Box, ...]:
    """A box for each; those that the eye cannot keep apart are one, denser the more of its codes are so."""
    min_gap = MIN_GAP * bounds.size / WIDTH
    min_width = MIN_WIDTH * bounds.size / WIDTH
    boxes: list[list[int]] = []  # first and last number, and how many between them are so
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


def part_boxes(sampled: Sample, state: CodeState) -> tuple[Box, ...]:
    """A box for each run of parts of which as many codes are so: the more, the denser."""
    shares: dict[int, float] = {
        part.index: state.of(part) / part.codes for part in sampled.parts if part.codes and state.of(part)
    }
    boxes, begin = [], 0
    for part in range(1, sampled.part_count + 1):
        if part < sampled.part_count and shares.get(part) == shares.get(begin):
            continue
        if of_run := shares.get(begin):
            title = f"{state.title}: {percent_text(of_run)}"
            place, width = begin / sampled.part_count, (part - begin) / sampled.part_count
            boxes.append(box(place, width, opacity_of(of_run), title))
        begin = part
    return tuple(boxes)


def box(place: float, width: float, opacity: float, title: str) -> Box:
    """Places and widths are shares of the whole."""
    wide = max(MIN_WIDTH, width * WIDTH)
    return Box(f"{min(place * WIDTH, WIDTH - wide):.1f}", f"{wide:.1f}", f"{opacity:.2f}", title)


def opacity_of(share: float) -> float:
    return MIN_OPACITY + (1 - MIN_OPACITY) * share


def percent_text(share: float) -> str:
    """Neither none nor all is said of what is almost so."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{format_number(round(100 * share))} %"


def rows_of(
    sampled: Sample, numbering: Any, inner: Mapping[str, Sequence[Span]], lanes: Sequence[Lane]
) -> tuple[Row, ...]:
    """As many rows as a table has room for, each of whole parts."""
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
            else sampled_percent(parts, CodeState(lane.name, lane.title))
            for lane in lanes
        )
        rows.append(Row(numbering.code(bounds.first), numbering.code(bounds.last), cells))
    return tuple(rows)


def sampled_percent(parts: Sequence[PartSample], state: CodeState) -> str:
    """A dash where no code was read."""
    read = sum(part.codes for part in parts)
    return percent_text(sum(state.of(part) for part in parts) / read) if read else "-"
