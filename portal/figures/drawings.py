"""Charts as inline SVG: the positions of lines, bars and cells, as language-independent text.

They run from left to right in every language, and so do the labels under them. Colours are classes of
portal/home.css, so that they follow light and dark. A table under a chart shows its numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape

from core.numbers import rounded

Number = int | float | Decimal

LINE_WIDTH, LINE_HEIGHT, LINE_MARGIN = 100.0, 28.0, 2.0
CELL_SIZE = 24
CHART_WIDTH, CHART_HEIGHT, GAP = 720.0, 200.0, 0.25


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle and its tooltip."""

    x: str
    y: str
    width: str
    height: str
    kind: str
    title: str = ""
    opacity: str = "1"

    def as_svg(self, prefix: str = "") -> str:
        """Its SVG element with the class `prefix` and kind. A chart has hundreds, for which templates are slow."""
        place = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        style = f'class="{prefix}{self.kind}"' + (f' fill-opacity="{self.opacity}"' if self.opacity != "1" else "")
        return f"<rect {style} {place}><title>{escape(self.title)}</title></rect>"


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars and, over them, a line with its own scale. `labels`: of the first bar, the last, and some between."""

    boxes: tuple[Box, ...]
    line: str
    labels: tuple[str, ...]
    top: str
    line_top: str = ""
    width: str = f"{CHART_WIDTH:.0f}"
    height: str = f"{CHART_HEIGHT:.0f}"
    names_each_bar: bool = False


def line(values: Sequence[Number]) -> str:
    """The points of a polyline from left to right; a single value is a level line."""
    numbers = [float(value) for value in values] or [0.0]
    numbers = numbers * 2 if len(numbers) == 1 else numbers
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    scale = (LINE_HEIGHT - 2 * LINE_MARGIN) / ((high - low) or 1)
    step = (LINE_WIDTH - 2 * LINE_MARGIN) / (len(numbers) - 1)
    return " ".join(
        f"{LINE_MARGIN + place * step:.1f},{LINE_HEIGHT - LINE_MARGIN - (number - low) * scale:.1f}"
        for place, number in enumerate(numbers)
    )


def steps(values: Sequence[tuple[Number, Number]], *, width: float, height: float) -> str:
    """The points of a polyline of (place, value) steps: each value stays until the next. The scale starts at 0."""
    places = [float(place) for place, _value in values]
    highest = max(float(value) for _place, value in values)
    span = (places[-1] - places[0]) or 1

    def at(place: float, value: Number) -> str:
        y = height - height * float(value) / highest if highest else height
        return f"{width * (place - places[0]) / span:.1f},{y:.1f}"

    points = [at(places[0], values[0][1])]
    for place, (_before, left), (_at, value) in zip(places[1:], values, values[1:], strict=False):
        points += [at(place, left), at(place, value)]
    return " ".join(points)


def bars(
    names: Sequence[str],
    titles: Sequence[str],
    series: Sequence[tuple[str, Sequence[Number]]],
    *,
    over: Sequence[Number] = (),
    max_labels: int = 4,
    are_parts: bool = True,
) -> Chart:
    """A slot for each name with the values of all series: stacked in one bar or, if not `are_parts`, bars side by side.
    `over`: the values of the line.
    """
    columns = [[float(values[place]) for _kind, values in series] for place in range(len(names))]
    highest = max((sum(column) if are_parts else max(column) for column in columns), default=0)
    slot = CHART_WIDTH / max(len(names), 1)
    width = slot * (1 - GAP) / (1 if are_parts else len(series))
    boxes = []
    for place, (title, column) in enumerate(zip(titles, columns, strict=True)):
        x, base = place * slot + slot * GAP / 2, CHART_HEIGHT
        for nth, (value, (kind, _values)) in enumerate(zip(column, series, strict=True)):
            height = value / (highest or 1) * CHART_HEIGHT
            if height <= 0:
                continue
            base = base - height if are_parts else CHART_HEIGHT - height
            left = x if are_parts else x + nth * width
            boxes.append(Box(f"{left:.1f}", f"{base:.1f}", f"{width:.1f}", f"{height:.1f}", kind, title))
    count = min(max_labels, len(names))
    labels = [names[round(place * (len(names) - 1) / max(count - 1, 1))] for place in range(count)]
    return Chart(
        tuple(boxes),
        _line_over(over, slot),
        tuple(labels),
        top=rounded(highest, 0),
        line_top=rounded(max(over), 0) if over else "",
        names_each_bar=0 < len(names) == count,
    )


def _line_over(values: Sequence[Number], slot: float) -> str:
    """From the middle of each bar to the next, with some space above."""
    peak = max((float(value) for value in values), default=0) or 1
    return " ".join(
        f"{(place + 0.5) * slot:.1f},{CHART_HEIGHT - float(value) / peak * (CHART_HEIGHT - 8):.1f}"
        for place, value in enumerate(values)
    )


def cells(values: Sequence[Sequence[int]], titles: Sequence[Sequence[str]]) -> tuple[Box, ...]:
    """A square for each number; the higher the number, the denser the square."""
    highest = max((value for row in values for value in row), default=0) or 1
    return tuple(
        Box(
            f"{column * CELL_SIZE}",
            f"{place * CELL_SIZE}",
            f"{CELL_SIZE - 2}",
            f"{CELL_SIZE - 2}",
            "cell" if value else "cell-empty",
            titles[place][column],
            f"{0.15 + 0.85 * value / highest:.2f}" if value else "1",
        )
        for place, row in enumerate(values)
        for column, value in enumerate(row)
    )
