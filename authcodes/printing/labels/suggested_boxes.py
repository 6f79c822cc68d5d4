"""The initial boxes of an own layout: those of the automatic layout, and free places for the other parts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from authcodes.printing.labels.design import TEXT_MM, Design, Label
from authcodes.printing.labels.layout import NARROW_MM, PAD, Area, Placement
from authcodes.printing.labels.parts import ALWAYS, TEXTS, Part, PartName, Parts, ordered

CODE_MM = 2.5  # height, as large as in the automatic layout
SMALL_MM = 3.0
CODE_EDGE_MM = 0.3  # of its box, next to the text
GAP = Decimal("0.5")
SIZES = {PartName.TITLE: (20.0, 5.0), PartName.LOGO: (7.0, 7.0)}  # of parts without a place
SIZE = (18.0, 2.6)


@dataclass(frozen=True, slots=True)
class Suggested:
    """A box for every part, and the names of the parts that labels show exactly there."""

    boxes: dict[str, Part]
    placed: frozenset[str]

    def of(self, names: Iterable[str]) -> dict[str, Part]:
        """The boxes of these parts."""
        names = set(names)
        return {name: part for name, part in self.boxes.items() if name in names}


def arranged(design: Design, label: Label, visible: Iterable[str]) -> Suggested:
    """The boxes of the parts on labels like this one, and suggested boxes for the others.

    The automatic layout may write several parts in one line, or leave one out; then only the first has a box.
    """
    names = {*ALWAYS, *visible}
    if design.parts is not None:
        every = {name: part for name, part in design.parts.items() if name in names}
    else:
        every = _automatic(Placement(design), label, [name for name in TEXTS[1:] if name in names])
    placed = frozenset(every)
    width, height = design.sheet.label_width, design.sheet.label_height
    for name in sorted(PartName, key=lambda each: each.value not in names):
        if name.value not in every:
            every[name.value] = free_place(every, name, width=width, height=height)
    return Suggested(ordered(every), placed)


def free_place(parts: Parts, name: str, *, width: Decimal, height: Decimal) -> Part:
    """A box for another part; in the upper left corner if there is no room for it."""
    wide, high = (_mm(length) for length in SIZES.get(PartName(name), SIZE))
    wide, high = min(wide, width - 2 * GAP), min(high, height - 2 * GAP)
    lefts = sorted({_mm(PAD), *(part.right + GAP for part in parts.values()), width - wide - GAP})
    tops = sorted({GAP, *(part.bottom + GAP for part in parts.values()), height - high - GAP})
    for top in tops:
        for left in lefts:
            box = Part(left, top, wide, high)
            inside = left >= 0 and top >= 0 and box.right <= width and box.bottom <= height
            if inside and not any(box.overlaps(part) for part in parts.values()):
                return box
    return Part(GAP, GAP, wide, high)


def _automatic(place: Placement, label: Label, texts: Sequence[str]) -> dict[str, Part]:
    line, top = place.code_line(label), place.height - place.bottom
    size = _mm(place.size)
    below = float(TEXT_MM) if place.lines_below else min(CODE_MM, place.bottom)
    code = Area(max(line.left - CODE_EDGE_MM, 0), line.left + line.width + CODE_EDGE_MM, place.bottom - below, 0)
    result = {
        PartName.QR.value: Part(_mm(place.left), _mm(top) - size, size, size),
        PartName.CODE.value: _box(place, code._replace(top=place.bottom), centred=True),
    }
    if place.logo:
        result[PartName.LOGO.value] = _box(place, place.logo)
    if place.at_the_side:
        return result | _at_the_side(place, texts)
    if place.lines_below:
        first = place.strip.top - float(TEXT_MM)
        tops = [first - number * NARROW_MM for number in range(place.lines_below)]
        rows = (place.strip._replace(top=top, bottom=top - NARROW_MM) for top in tops)
        return result | {name: _box(place, row, centred=True) for name, row in zip(texts, rows, strict=False)}
    room = place.strip._replace(left=code.right + PAD)
    return result | {name: _box(place, room) for name in texts[:1] if room.width > 0}


def _at_the_side(place: Placement, texts: Sequence[str]) -> dict[str, Part]:
    """The title gets the room that the other lines leave."""
    box = place.box
    small = [name for name in texts if name != PartName.TITLE]
    row = min(SMALL_MM, box.height / (len(small) + 2))
    result, top = {}, box.top
    if PartName.TITLE in texts:
        bottom = box.bottom + row * len(small)
        result[PartName.TITLE.value] = _box(place, box._replace(bottom=bottom))
        top = bottom
    for name in small:
        result[str(name)] = _box(place, box._replace(top=top, bottom=top - row))
        top -= row
    return result


def _box(place: Placement, area: Area, *, centred: bool = False) -> Part:
    return Part(_mm(area.left), _mm(place.height - area.top), _mm(area.width), _mm(area.height), centred)


def _mm(length: float) -> Decimal:
    return Decimal(f"{length:.2f}")
