"""The map of scans: circles where codes were scanned, over the outlines of static/authcodes/world.svg."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from authcodes.dashboard.figures import RankedRow
from authcodes.places import names
from authcodes.places.positions import position_of
from portal.figures.cards import number

MAX_PLACES = 60
# The outlines use plate carrée: units per degree, and their western and northern edge in degrees.
UNITS, WEST, NORTH = 5.0, -180.0, 84.0
WIDTH, HEIGHT = 1800.0, 705.0
RATIO = WIDTH / HEIGHT
MIN_SPAN = 200.0  # 40 degrees: the outlines are coarse
MARGIN = 0.12
MAX_RADIUS, MIN_RADIUS = 0.034, 0.008  # as a fraction of the visible width


@dataclass(frozen=True, slots=True)
class Circle:
    title: str
    x: str
    y: str
    radius: str
    link: str


@dataclass(frozen=True, slots=True)
class Row:
    """A place in the list. `is_on_map`: whether its position is known."""

    name: str
    scans: int
    link: str
    scans_link: str | None
    is_on_map: bool

    @property
    def scans_text(self) -> str:
        return number(self.scans)

    def as_html(self) -> SafeString:
        """The row as HTML. Home has dozens of these, and templates are slow."""
        scans: SafeString | str = self.scans_text
        if self.scans_link:
            message = ngettext("%(number)s scan in %(name)s", "%(number)s scans in %(name)s", self.scans)
            label = message % {"number": scans, "name": self.name}
            scans = format_html('<a href="{}" aria-label="{}">{}</a>', self.scans_link, label, scans)
        row = '<tr><th scope="row"><a href="{}">{}</a></th><td>{}</td></tr>'
        return format_html(row, self.link, self.name, scans)


@dataclass(frozen=True, slots=True)
class ScanMap:
    circles: tuple[Circle, ...]
    rows: tuple[Row, ...]
    view: str

    @property
    def missing(self) -> int:
        return sum(not row.is_on_map for row in self.rows)


def build_map(
    places: Sequence[RankedRow], *, place_link: Callable[[str], str], scans_link: Callable[[str], str | None]
) -> ScanMap:
    """The map, busiest places first. A circle's area is its share. `place_link`: the target of a click on a place."""
    most = places[0].scans if places else 1
    located = [(top, position_of(str(top.id)), place_link(str(top.id))) for top in places]
    spots = [
        (top, link, (position.longitude - WEST) * UNITS, (NORTH - position.latitude) * UNITS)
        for top, position, link in located
        if position
    ]
    left, upper, width, height = viewport([(x, y) for _top, _link, x, y in spots])
    circles = tuple(
        Circle(
            f"{names.short(top.name)}: {number(top.scans)}",
            f"{x:.1f}",
            f"{y:.1f}",
            f"{max(MIN_RADIUS, MAX_RADIUS * sqrt(top.scans / most)) * width:.1f}",
            link,
        )
        for top, link, x, y in spots
    )
    rows = tuple(
        Row(
            names.short(top.name),
            top.scans,
            link,
            scans_link(str(top.id)),
            position is not None,
        )
        for top, position, link in located
    )
    return ScanMap(circles, rows, f"{left:.0f} {upper:.0f} {width:.0f} {height:.0f}")


def viewport(spots: Sequence[tuple[float, float]]) -> tuple[float, float, float, float]:
    """The visible part of the map: all circles with a margin, in the map's own proportions."""
    if not spots:
        return 0, 0, WIDTH, HEIGHT
    left, right = min(x for x, _y in spots), max(x for x, _y in spots)
    upper, lower = min(y for _x, y in spots), max(y for _x, y in spots)
    width = max((right - left) * (1 + 2 * MARGIN), (lower - upper) * (1 + 2 * MARGIN) * RATIO, MIN_SPAN)
    width = min(width, WIDTH)
    height = width / RATIO
    x = min(max((left + right - width) / 2, 0), WIDTH - width)
    y = min(max((upper + lower - height) / 2, 0), HEIGHT - height)
    return x, y, width, height
