"""Own layouts: the content of a label in the boxes that a brand set for its parts. Resolved once for all labels."""

from collections.abc import Iterator
from functools import lru_cache

from authcodes.printing.labels import fonts, text_layout
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.layout import (
    ASCENT,
    LEADING,
    POINTS_PER_MM,
    Area,
    Placement,
    TextLine,
    code_text,
    mark_of,
    measure,
    on_white,
)
from authcodes.printing.labels.parts import TEXTS, Part, PartName, Parts

LINE_HEIGHT = 1.08  # in sizes of the text, from above the capitals to below the descenders
BASELINE = 0.84  # in sizes of the text, below the upper edge of a line
MAX_TITLE_PT, MIN_PT = 14.0, 4.5
SHRINKING = 0.92  # factor of the next size to try if text does not fit
MAX_WRAPPED_LINES = 99  # of a text, which is too high for any label long before that


class Arrangement:
    """The arrangement of all labels of a design with the brand's own layout. Has the interface of Placement."""

    def __init__(self, design: Design, parts: Parts) -> None:
        sheet, qr = design.sheet, parts[PartName.QR]
        self.width, self.height, self.size = map(float, (sheet.label_width, sheet.label_height, qr.width))
        self.left, self.bottom = float(qr.left), self.height - float(qr.bottom)
        self.mark = mark_of(design.mark, self.width, self.height) if design.mark else None
        self._centred = {name for name, part in parts.items() if part.centred}
        self._areas = {name.value: self._area(parts[name]) for name in TEXTS if name in parts}
        self.logo = self._logo_area(parts, design.logo)
        self.details = lru_cache(maxsize=1024)(self._details)

    def lines(self, label: Label) -> Iterator[TextLine]:
        """The text lines: the code first, then the details of the product."""
        yield self.code_line(label)
        yield from self.details(label.title, label.sku, label.expiry, label.note)

    def code_line(self, label: Label) -> TextLine:
        """Never truncated, but made as small as its box."""
        text, face, ems = code_text(label)
        area = self._areas[PartName.CODE]
        size = size_of_one_line(area)
        if ems:
            size = min(size, area.width * POINTS_PER_MM / ems)
        width = ems * size / POINTS_PER_MM
        left = area.left + (area.width - width) / 2 if PartName.CODE in self._centred else area.left
        return TextLine(text, face, left, _top(area, size, 1), size, width)

    def _details(self, title: str, sku: str, expiry: str, note: str) -> list[TextLine]:
        lines: list[TextLine] = []
        for name, content in zip(TEXTS[1:], (title, sku, expiry, note), strict=True):
            text = text_layout.shaped(text_layout.clean(content))
            if text and name in self._areas:
                area = self._areas[name]
                lines += self._title(text, area) if name == PartName.TITLE else self._small(name, text, area)
        return lines

    def _title(self, text: str, area: Area) -> list[TextLine]:
        """As large as fits completely; truncated if it does not fit at the smallest size."""
        size = min(MAX_TITLE_PT, size_of_one_line(area))
        while size > MIN_PT and not _fits(text, area, size):
            size = max(MIN_PT, size * SHRINKING)
        most = max(1, int((area.height * POINTS_PER_MM / size - LINE_HEIGHT) / LEADING + 1.001))
        ems = area.width * POINTS_PER_MM / size
        rows = text_layout.wrapped(text, width=ems, most_lines=most, measure=measure)
        top = _top(area, size, len(rows))
        step = size * LEADING / POINTS_PER_MM
        backwards = text_layout.right_to_left(text)
        return [
            self._placed(PartName.TITLE, row, area, top - number * step, size, backwards)
            for number, row in enumerate(rows)
        ]

    def _small(self, name: str, text: str, area: Area) -> list[TextLine]:
        """One line as high as its box; smaller if it is too long, and truncated if that is not enough."""
        room, ems, size = area.width * POINTS_PER_MM, measure(text), size_of_one_line(area)
        if ems * size > room:
            size = min(size, max(MIN_PT, room / ems))
            text = text_layout.cut(text, width=room / size + 0.001, measure=measure)
        backwards = text_layout.right_to_left(text)
        return [self._placed(name, text, area, _top(area, size, 1), size, backwards)]

    def _placed(self, name: str, text: str, area: Area, top: float, size: float, backwards: bool) -> TextLine:  # noqa: FBT001 - the text's direction
        width = measure(text) * size / POINTS_PER_MM
        if name in self._centred:
            left = area.left + (area.width - width) / 2
        else:
            left = area.right - width if backwards else area.left
        return TextLine(text, fonts.sans(), left, top, size, width, backwards)

    def _area(self, part: Part) -> Area:
        return Area(
            float(part.left), float(part.right), self.height - float(part.bottom), self.height - float(part.top)
        )

    def _logo_area(self, parts: Parts, logo: bytes | None) -> Area | None:
        """As large as fits the box, centred."""
        if logo is None or PartName.LOGO not in parts:
            return None
        box, (width, height) = self._area(parts[PartName.LOGO]), on_white(logo).size
        ratio = min(box.width / width, box.height / height)
        left, top = box.left + (box.width - width * ratio) / 2, box.top - (box.height - height * ratio) / 2
        return Area(left, left + width * ratio, top - height * ratio, top)


def placement_of(design: Design) -> Placement | Arrangement:
    """The placement of everything on a design's labels."""
    return Placement(design) if design.parts is None else Arrangement(design, design.parts)


def size_of_one_line(area: Area) -> float:
    """The text's size, in points, at which one line is as high as the box."""
    return area.height * POINTS_PER_MM / LINE_HEIGHT


def _top(area: Area, size: float, lines: int) -> float:
    """The upper edge of the first of `lines` lines that are centred in the box."""
    spare = max(0.0, area.height - size * (LINE_HEIGHT + (lines - 1) * LEADING) / POINTS_PER_MM)
    return area.top - spare / 2 + (ASCENT - BASELINE) * size / POINTS_PER_MM


def _fits(text: str, area: Area, size: float) -> bool:
    """Whether all of the text fits without breaking a word."""
    ems = area.width * POINTS_PER_MM / size
    if any(measure(word) > ems for word in text.split()):
        return False
    lines = len(text_layout.wrapped(text, width=ems, most_lines=MAX_WRAPPED_LINES, measure=measure))
    return size * (LINE_HEIGHT + (lines - 1) * LEADING) <= area.height * POINTS_PER_MM
