"""Designs: the content of a label, how labels are printed, and what cannot be printed or may not scan."""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from django.utils.translation import gettext as _

from authcodes.printing.labels import fonts
from authcodes.printing.labels.parts import Parts, problems
from authcodes.printing.labels.presets import Sheet, wrong
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import Level, symbol

MAX_OFFSET_MM = 20
MIN_SCALE, MAX_SCALE = Decimal("0.9"), Decimal("1.1")
TEXT_MM = Decimal("2.3")  # below the QR code, for the code itself


@dataclass(frozen=True, slots=True)
class Label:
    """The content of a label: the QR code of `payload`, `text` for typing, and the details of the product."""

    payload: str
    text: str
    title: str = ""
    sku: str = ""
    expiry: str = ""
    note: str = ""
    level: Level = Level.M

    @property
    def details(self) -> list[str]:
        """The lines below or next to the code, the title first."""
        return [text for text in (self.title, self.sku, self.expiry, self.note) if text]


@dataclass(frozen=True, slots=True)
class Design:
    """How labels are printed. Offsets, in millimetres to the right and down, and scale correct for a printer."""

    sheet: Sheet
    qr_mm: Decimal
    start: int = 1
    by_column: bool = False
    cut_marks: bool = False
    logo: bytes | None = None  # a PNG of brands.tenants.pictures
    offset_x: Decimal = Decimal(0)
    offset_y: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    mark: str = ""  # across each label, in grey behind everything else
    parts: Parts | None = None  # the brand's own layout; None: automatic placement

    def check(self) -> None:
        """Raises Invalid with the setting, for what no printer could print or no camera could read."""
        self.sheet.check()
        for field in ("qr_mm", "offset_x", "offset_y", "scale"):
            if not getattr(self, field).is_finite():
                raise wrong(field, _("Enter a number."))
        self._check_places()
        if not 1 <= self.start <= self.sheet.per_page:
            raise wrong("start", _("Enter a label number from 1 to %(last)s.") % {"last": self.sheet.per_page})
        check_printer(offset_x=self.offset_x, offset_y=self.offset_y, scale=self.scale)

    def _check_places(self) -> None:
        if self.parts is not None:
            for problem in problems(self.parts, width=self.sheet.label_width, height=self.sheet.label_height):
                raise wrong(problem.field, problem.message)
            return
        if self.qr_mm < images.MIN_SIZE_MM:
            raise wrong("qr_mm", _("A QR code needs at least %(least)s mm.") % {"least": images.MIN_SIZE_MM})
        largest = min(self.sheet.label_width, self.sheet.label_height - TEXT_MM)
        if self.qr_mm > largest:
            text = _("The QR code and the text below it do not fit the label. Choose a QR code of at most %(most)s mm.")
            raise wrong("qr_mm", text % {"most": largest})


def check_printer(*, offset_x: Decimal, offset_y: Decimal, scale: Decimal) -> None:
    """Raises Invalid with the setting, for a correction that no printer needs."""
    if not MIN_SCALE <= scale <= MAX_SCALE:
        limits = {"least": MIN_SCALE, "most": MAX_SCALE}
        raise wrong("scale", _("The scale must be between %(least)s and %(most)s.") % limits)
    for field, offset in (("offset_x", offset_x), ("offset_y", offset_y)):
        if not abs(offset) <= MAX_OFFSET_MM:
            raise wrong(field, _("Shift the print by at most %(most)s mm.") % {"most": MAX_OFFSET_MM})


def coarse_enough_mm(design: Design, sample: Label) -> Decimal | None:
    """The width that its QR code needs, in tenths of a millimetre; None if it is wide enough for its modules."""
    drawn = symbol(sample.payload, sample.level)
    if images.module_mm(drawn, design.qr_mm * design.scale) >= images.MIN_MODULE_MM:
        return None
    needed = images.MIN_MODULE_MM * images.modules_across(drawn) / design.scale
    return needed.quantize(Decimal("0.1"), rounding=ROUND_UP)


def module_warnings(design: Design, sample: Label) -> list[str]:
    """Whether labels like this one may fail to scan although they can be printed."""
    drawn = symbol(sample.payload, sample.level)
    module = images.module_mm(drawn, design.qr_mm * design.scale)
    if module >= images.MIN_MODULE_MM:
        return []
    needed = images.MIN_MODULE_MM * images.modules_across(drawn) / design.scale
    text = _(
        "A module of the QR code is %(module).3f mm wide. Below %(least)s mm, cheap printers and cameras may fail. "
        "Print the QR code at %(needed).1f mm or more, or choose a lower error correction."
    )
    return [text % {"module": module, "least": images.MIN_MODULE_MM, "needed": needed}]


def letter_warnings(missing: str) -> list[str]:
    """The warning about characters that labels cannot show."""
    if not missing:
        return []
    text = _(
        "Labels cannot show these characters and print %(box)s instead: "
        "%(missing)s. The operator can add a font that has them."
    )
    return [text % {"box": fonts.UNKNOWN, "missing": " ".join(missing[:20])}]
