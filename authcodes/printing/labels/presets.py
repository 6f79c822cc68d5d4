"""Label sheets: the position of each label on a page, in millimetres from the top left."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import Invalid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

INCH = Decimal("25.4")
LETTER = (Decimal("215.9"), Decimal("279.4"))
A4 = (Decimal(210), Decimal(297))
MIN_LABEL_MM = Decimal(20)
MAX_PAGE_MM = Decimal(2000)
MAX_PER_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page of labels. Lengths in millimetres; a pitch is from one label's left or top edge to that of the next."""

    page_width: Decimal
    page_height: Decimal
    left: Decimal
    top: Decimal
    label_width: Decimal
    label_height: Decimal
    pitch_x: Decimal
    pitch_y: Decimal
    columns: int
    rows: int

    @property
    def per_page(self) -> int:
        return self.columns * self.rows

    def pages(self, labels: int, *, start: int = 1) -> int:
        """How many pages `labels` labels need if the first page begins at label `start`."""
        return -(-(labels + start - 1) // self.per_page)

    def place(self, index: int, *, by_column: bool = False) -> tuple[Decimal, Decimal]:
        """The top left corner of the label `index` of a page, counted from 0, row by row or column by column."""
        if by_column:
            column, row = divmod(index, self.rows)
        else:
            row, column = divmod(index, self.columns)
        return self.left + column * self.pitch_x, self.top + row * self.pitch_y

    def places(self) -> Iterator[tuple[Decimal, Decimal]]:
        return (self.place(index) for index in range(self.per_page))

    def check(self) -> None:
        """Raises Invalid with the setting, for what no printer could print."""
        for field in fields(self):
            value = Decimal(getattr(self, field.name))
            if not value.is_finite() or not 0 <= value <= MAX_PAGE_MM:
                raise wrong(field.name, _("Enter a length between 0 and %(most)s mm.") % {"most": MAX_PAGE_MM})
        for name in ("label_width", "label_height"):
            if getattr(self, name) < MIN_LABEL_MM:
                raise wrong(name, _("A label must be at least %(least)s mm wide and high.") % {"least": MIN_LABEL_MM})
        if self.columns < 1 or self.rows < 1 or self.per_page > MAX_PER_PAGE:
            raise wrong("rows", _("A page can have 1 to %(most)s labels.") % {"most": MAX_PER_PAGE})
        if self.columns > 1 and self.pitch_x < self.label_width:
            raise wrong("pitch_x", _("Labels would overlap: the horizontal pitch must be at least the label's width."))
        if self.rows > 1 and self.pitch_y < self.label_height:
            raise wrong("pitch_y", _("Labels would overlap: the vertical pitch must be at least the label's height."))
        self._check_page()

    def _check_page(self) -> None:
        right = self.left + (self.columns - 1) * self.pitch_x + self.label_width
        bottom = self.top + (self.rows - 1) * self.pitch_y + self.label_height
        if right > self.page_width:
            message = _("The labels reach %(much)s mm beyond the page's right edge.")
            raise wrong("columns", message % {"much": right - self.page_width})
        if bottom > self.page_height:
            message = _("The labels reach %(much)s mm beyond the page's bottom edge.")
            raise wrong("rows", message % {"much": bottom - self.page_height})


def wrong(field: str, message: str) -> Invalid:
    """The error of a rule, shown at the setting that breaks it."""
    return Invalid(message, details={"field": field})


def _grid(page: tuple[Decimal, Decimal], label: tuple[Decimal, Decimal], columns: int, rows: int) -> Sheet:
    """Labels side by side, centred on the page."""
    width, height = label
    left, top = (page[0] - columns * width) / 2, (page[1] - rows * height) / 2
    return Sheet(*page, left, top, width, height, width, height, columns, rows)


@dataclass(frozen=True, slots=True)
class Preset:
    """A commercial sheet, or one that divides a page well, with the size of its QR codes in millimetres."""

    name: str
    title: "StrOrPromise"
    sheet: Sheet
    qr_mm: Decimal


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "letter-30",
            gettext_lazy("30 per page, US Letter 3 x 10 (as Avery 5160)"),
            Sheet(
                *LETTER,
                left=INCH * 3 / 16,
                top=INCH / 2,
                label_width=INCH * 21 / 8,
                label_height=INCH,
                pitch_x=INCH * 11 / 4,
                pitch_y=INCH,
                columns=3,
                rows=10,
            ),
            Decimal("21.5"),
        ),
        Preset(
            "a4-30",
            gettext_lazy("30 per page, A4 3 x 10, 70 x 29.7 mm labels (as Avery 3489)"),
            _grid(A4, (Decimal(70), Decimal("29.7")), 3, 10),
            Decimal("24.5"),
        ),
        Preset(
            "a4-21",
            gettext_lazy("21 per page, A4 3 x 7 (as Avery L7160)"),
            Sheet(
                *A4,
                left=Decimal("7.21"),
                top=Decimal("15.15"),
                label_width=Decimal("63.5"),
                label_height=Decimal("38.1"),
                pitch_x=Decimal("66.04"),
                pitch_y=Decimal("38.1"),
                columns=3,
                rows=7,
            ),
            Decimal(33),
        ),
        Preset(
            "grid-30",
            gettext_lazy("30 per page, US Letter 5 x 6, 1.5 in codes"),
            _grid(LETTER, (Decimal("39.1"), Decimal(43)), 5, 6),
            INCH * 3 / 2,
        ),
        Preset(
            "grid-20",
            gettext_lazy("20 per page, US Letter 4 x 5, 2 in codes"),
            _grid(LETTER, (Decimal("51.8"), Decimal(55)), 4, 5),
            INCH * 2,
        ),
    )
}
DEFAULT_PRESET = "letter-30"

# Where offices print on US Letter, by CLDR's paper sizes and with the outlying islands of the US: most of America, and
# these places elsewhere. Everywhere else paper is A4. Without a chosen time zone (UTC), it is Letter.
LETTER_AREAS = frozenset(("", "Canada", "Chile", "Mexico", "US", "UTC"))
LETTER_ZONES = frozenset((
    "Asia/Manila", "Pacific/Easter", "Pacific/Guam", "Pacific/Honolulu", "Pacific/Johnston", "Pacific/Midway",
    "Pacific/Pago_Pago", "Pacific/Saipan", "Pacific/Samoa", "Pacific/Wake",
    "CST6CDT", "EST", "EST5EDT", "HST", "MST", "MST7MDT", "Navajo", "PST8PDT",
))  # fmt: skip
A4_IN_AMERICA = frozenset((
    # South America except Chile, Colombia and Venezuela; the zones of Argentina are recognised by its name.
    "Araguaina", "Asuncion", "Bahia", "Belem", "Boa_Vista", "Buenos_Aires", "Campo_Grande", "Catamarca", "Cayenne",
    "Cordoba", "Cuiaba", "Eirunepe", "Fortaleza", "Guayaquil", "Guyana", "Jujuy", "La_Paz", "Lima", "Maceio", "Manaus",
    "Mendoza", "Montevideo", "Noronha", "Paramaribo", "Porto_Acre", "Porto_Velho", "Recife", "Rio_Branco", "Rosario",
    "Santarem", "Sao_Paulo",
    # Honduras, and the Caribbean except Puerto Rico and the US Virgin Islands.
    "Anguilla", "Antigua", "Aruba", "Barbados", "Cayman", "Curacao", "Dominica", "Grand_Turk", "Grenada", "Guadeloupe",
    "Havana", "Jamaica", "Kralendijk", "Lower_Princes", "Marigot", "Martinique", "Montserrat", "Nassau",
    "Port-au-Prince", "Port_of_Spain", "Santo_Domingo", "St_Barthelemy", "St_Kitts", "St_Lucia", "St_Vincent",
    "Tegucigalpa", "Tortola",
    # Greenland, and Saint Pierre and Miquelon.
    "Danmarkshavn", "Godthab", "Miquelon", "Nuuk", "Scoresbysund", "Thule",
))  # fmt: skip


def preset_for(time_zone: str) -> str:
    """The initial sheet, 30 labels a page, by the brand's time zone."""
    area, _slash, place = time_zone.partition("/")
    if area == "America":
        prints_letter = place not in A4_IN_AMERICA and not place.startswith("Argentina/")
    else:
        prints_letter = area in LETTER_AREAS or time_zone in LETTER_ZONES
    return DEFAULT_PRESET if prints_letter else "a4-30"
