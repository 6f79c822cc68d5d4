"""Parts: the boxes of a brand's own layout for the content of a label, and their problems.

Lengths are in millimetres, from a label's left and upper edge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_UP, Decimal
from itertools import combinations
from typing import Any, NamedTuple

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.printing.qr.images import MIN_SIZE_MM

SLACK = Decimal("0.02")  # tolerance for rounded lengths
MIN_TEXT_WIDTH_MM, MIN_TEXT_HEIGHT_MM = Decimal(5), Decimal("1.8")
MIN_LOGO_MM = Decimal(3)


class PartName(TextChoices):
    """In order of precedence: nothing may lie on the QR code."""

    QR = "qr", gettext_lazy("QR code")
    CODE = "code", gettext_lazy("Code")
    TITLE = "title", gettext_lazy("Product title")
    SKU = "sku", gettext_lazy("SKU")
    EXPIRY = "expiry", gettext_lazy("Expiration date")
    NOTE = "note", gettext_lazy("Label text")
    LOGO = "logo", gettext_lazy("Logo")


ALWAYS = (PartName.QR, PartName.CODE)
SWITCHED = (PartName.TITLE, PartName.SKU, PartName.EXPIRY, PartName.LOGO)  # optional; a note is shown if it has text
TEXTS = (PartName.CODE, PartName.TITLE, PartName.SKU, PartName.EXPIRY, PartName.NOTE)


@dataclass(frozen=True, slots=True)
class Part:
    """A box. A QR code's box is square and includes its quiet zone; text is as large as its box allows."""

    left: Decimal
    top: Decimal
    width: Decimal
    height: Decimal
    centred: bool = False

    @property
    def right(self) -> Decimal:
        return self.left + self.width

    @property
    def bottom(self) -> Decimal:
        return self.top + self.height

    def overlaps(self, other: "Part") -> bool:
        across = self.left < other.right - SLACK and other.left < self.right - SLACK
        return across and self.top < other.bottom - SLACK and other.top < self.bottom - SLACK


Parts = Mapping[str, Part]


class Problem(NamedTuple):
    """A problem of a part, and the length at which it is shown."""

    part: str
    length: str
    message: str

    @property
    def field(self) -> str:
        return f"{self.part}_{self.length}"


def ordered(parts: Parts) -> dict[str, Part]:
    return {name.value: parts[name] for name in PartName if name in parts}


def problems(parts: Parts, *, width: Decimal, height: Decimal) -> Iterator[Problem]:
    """All problems of these parts on a label of this size."""
    parts = ordered(parts)
    missing = [name for name in ALWAYS if name not in parts]
    yield from (Problem(name, "left", _("Every label needs this part.")) for name in missing)
    for name, part in parts.items():
        yield from _alone(name, part, width, height)
    for one, other in combinations(parts, 2):
        if parts[one].overlaps(parts[other]):
            yield Problem(other, "left", overlap(one))


def overlap(covered: str) -> str:
    if covered == PartName.QR:
        return _("This part covers the QR code or the white margin that cameras need. Move it away.")
    return _("This part overlaps another part: %(part)s.") % {"part": PartName(covered).label}


def _alone(name: str, part: Part, width: Decimal, height: Decimal) -> Iterator[Problem]:
    wide, high = least(name)
    if part.width < wide:
        yield Problem(name, "width", _("At least %(least)s mm wide.") % {"least": wide})
    elif part.height < high:
        yield Problem(name, "height", _("At least %(least)s mm high.") % {"least": high})
    for length, over in (
        ("left", max(-part.left, part.right - width)),
        ("top", max(-part.top, part.bottom - height)),
    ):
        if over > SLACK:
            much = {"much": over.quantize(Decimal("0.1"), rounding=ROUND_UP)}
            yield Problem(name, length, _("This part extends %(much)s mm beyond the label.") % much)
            break


def least(name: str) -> tuple[Decimal, Decimal]:
    """The minimum width and height of a part."""
    if name == PartName.QR:
        return MIN_SIZE_MM, MIN_SIZE_MM
    if name == PartName.LOGO:
        return MIN_LOGO_MM, MIN_LOGO_MM
    return MIN_TEXT_WIDTH_MM, MIN_TEXT_HEIGHT_MM


def to_json(parts: Parts) -> dict[str, Any]:
    """The parts as JSON, in order."""
    return {
        name: {key: value if isinstance(value, bool) else str(value.normalize() + 0) for key, value in fields.items()}
        for name, fields in ((name, asdict(part)) for name, part in ordered(parts).items())
    }


def from_json(stored: Mapping[str, Any]) -> dict[str, Part]:
    """The parts that `to_json` wrote."""
    return {
        name: Part(
            left=Decimal(fields["left"]),
            top=Decimal(fields["top"]),
            width=Decimal(fields["width"]),
            height=Decimal(fields["height"]),
            centred=fields["centred"],
        )
        for name, fields in stored.items()
    }
