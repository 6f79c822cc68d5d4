"""The strip of a batch's page: its codes from the first to the last as lanes, one above the other, and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from authcodes.codes.history import numbering_of
from authcodes.codes.samples import PartSample, Sample, sample
from authcodes.codes.spans import Span, inside, size_of
from authcodes.models.batches import BatchRange
from portal.figures.cards import share

WIDTH, LANE_HEIGHT, LANE_GAP = 1200, 16, 6
MIN_WIDTH = 3  # of a box, so that a single code of a million is seen
FAINTEST = 0.25
TABLE_ROWS = 10


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

    @property
    def text_y(self) -> int:
        return self.y + LANE_HEIGHT - 4


@dataclass(frozen=True, slots=True)
class Row:
    """A stretch of the table: its codes, and the share of them, in percent, for each lane."""

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
    def height(self) -> int:
        return len(self.lanes) * (LANE_HEIGHT + LANE_GAP) - LANE_GAP


@dataclass(frozen=True, slots=True)
class States:
    """What the lanes of codes show: a name, a title, and how many codes of a part are so."""

    name: str
    title: Any

    def of(self, part: PartSample) -> int:
        number: int = getattr(part, self.name)
        return number


def strip_of(batch: BatchRange, span: Span, spans: Mapping[str, Sequence[Span]], *, is_part: bool) -> Strip:
    """Of a code range of a batch with numbers; `is_part`: the batch has more codes. One statement.

    `spans`: which are "printed" and "delivered", and "recalled" where that is a part of the batch.
    """
    sampled = sample(batch, span)
    numbering = numbering_of(batch)
    assigned, scanned, deactivated = (
        States("assigned", _("Assigned")),
        States("scanned", _("Scanned")),
        States("deactivated", _("Deactivated")),
    )
    inner = {name: inside(each, span) for name, each in spans.items()}
    drawn: list[tuple[str, str, tuple[Box, ...]]] = [
        (assigned.name, str(assigned.title), part_boxes(sampled, assigned)),
        ("printed", _("Printed"), span_boxes(inner["printed"], span, _("Printed"))),
        ("delivered", _("In the shops"), span_boxes(inner["delivered"], span, _("In the shops"))),
        (scanned.name, str(scanned.title), part_boxes(sampled, scanned)),
        (deactivated.name, str(deactivated.title), part_boxes(sampled, deactivated)),
    ]
    if "recalled" in inner:
        drawn.append(("recalled", _("Recalled"), span_boxes(inner["recalled"], span, _("Recalled"))))
    return Strip(
        lanes=tuple(
            Lane(name, title, place * (LANE_HEIGHT + LANE_GAP), boxes)
            for place, (name, title, boxes) in enumerate(drawn)
        ),
        rows=rows_of(sampled, numbering, inner, (assigned, scanned, deactivated)),
        first=numbering.code(span.first),
        last=numbering.code(span.last),
        low=span.first,
        size=span.size,
        prefix=batch.prefix,
        digits=batch.number_width,
        every=sampled.every,
        is_part=is_part,
    )


def span_boxes(spans: Sequence[Span], bounds: Span, title: str) -> tuple[Box, ...]:
    return tuple(
        box((each.first - bounds.first) / bounds.size, each.size / bounds.size, 1.0, f"{title}: {each.size:,}")
        for each in spans
    )


def part_boxes(sampled: Sample, states: States) -> tuple[Box, ...]:
    """A box for each run of parts of which as many codes are so: the more, the denser."""
    shares: dict[int, float] = {
        part.part: states.of(part) / part.codes for part in sampled.parts if part.codes and states.of(part)
    }
    boxes, begin = [], 0
    for part in range(1, sampled.number + 1):
        if part < sampled.number and shares.get(part) == shares.get(begin):
            continue
        if of_run := shares.get(begin):
            title = f"{states.title}: {percent_text(of_run)}"
            place, width = begin / sampled.number, (part - begin) / sampled.number
            boxes.append(box(place, width, FAINTEST + (1 - FAINTEST) * of_run, title))
        begin = part
    return tuple(boxes)


def box(place: float, width: float, opacity: float, title: str) -> Box:
    """Places and widths are shares of the whole."""
    wide = max(MIN_WIDTH, width * WIDTH)
    return Box(f"{min(place * WIDTH, WIDTH - wide):.1f}", f"{wide:.1f}", f"{opacity:.2f}", title)


def percent_text(part: float) -> str:
    """Neither none nor all is said of what is almost so."""
    if 0 < part < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < part < 1 else f"{100 * part:.0f} %"


def rows_of(
    sampled: Sample, numbering: Any, inner: dict[str, list[Span]], states: tuple[States, ...]
) -> tuple[Row, ...]:
    """As many stretches as a table has room for, each of whole parts."""
    by_part = {part.part: part for part in sampled.parts}
    step = -(-sampled.number // TABLE_ROWS)
    rows = []
    for begin in range(0, sampled.number, step):
        end = min(begin + step, sampled.number)
        first, last = sampled.begin_of(begin), min(sampled.begin_of(end) - 1, sampled.span.last)
        bounds = Span(first, last)
        parts = [by_part[part] for part in range(begin, end) if part in by_part]
        read = sum(part.codes for part in parts)
        assigned, scanned, deactivated = (
            percent_text(sum(each.of(part) for part in parts) / read) if read else "-" for each in states
        )
        printed, delivered, *recalled = (
            f"{share(size_of(inside(inner[name], bounds)), bounds.size):g} %"
            for name in ("printed", "delivered", "recalled")
            if name in inner
        )
        cells = (assigned, printed, delivered, scanned, deactivated, *recalled)
        rows.append(Row(numbering.code(first), numbering.code(last), cells))
    return tuple(rows)
