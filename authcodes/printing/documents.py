"""Designed documents, made by WeasyPrint, and a print run's cover sheet. Nothing is ever fetched."""

import logging
import unicodedata
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.codes.signed_tags import LENGTH
from authcodes.models.prints import PrintRun
from authcodes.printing import selection
from authcodes.printing.checks import format_length
from authcodes.printing.labels.fonts import next_to_dejavu, sans
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import Level
from authcodes.printing.request import PrintRequest
from brands.models.tenants import Brand
from brands.scanned import TAG_SEPARATOR
from brands.tenants.hostnames import hostname_of, scan_address
from core import languages
from core.errors import DomainError

# Otherwise each document fills the log with its rendering steps.
logging.getLogger("weasyprint").setLevel(logging.ERROR)

FILES_PREFIX = "files:"  # begins the addresses of the files passed to `pdf`; no other address is answered
SPECIMEN = "SPECIMEN"
SPECIMEN_MM = images.DEFAULT_SIZE_MM


class LibrariesMissing(DomainError, code="UNAVAILABLE", status=503):
    """The system lacks the libraries that WeasyPrint needs."""

    default_message: ClassVar[Any] = gettext_lazy(
        "Documents cannot be created here: the server lacks Pango. The operator must install libpango-1.0-0, "
        "libpangoft2-1.0-0 and libharfbuzz-subset0, then restart the server. Label sheets and QR images do not need "
        "them."
    )


def _weasyprint() -> Any:
    """Load WeasyPrint for the first document: loading fails without Pango, which only documents need.

    Raises LibrariesMissing.
    """
    try:
        return import_module("weasyprint")
    except (ImportError, OSError) as error:
        raise LibrariesMissing from error


@cache
def _fetcher_class() -> Any:
    class Fetcher(import_module("weasyprint.urls").URLFetcher):  # type: ignore[misc] # loaded late
        """Answers with the files passed to it, and rejects every address, including `data:` and `file:`."""

        def __init__(self, files: dict[str, bytes]) -> None:
            super().__init__(allowed_protocols=(), allow_redirects=False)
            self.files = files

        def fetch(self, url: str, headers: Any = None) -> Any:
            name = url.removeprefix(FILES_PREFIX)
            if not url.startswith(FILES_PREFIX) or name not in self.files:
                message = "this document may fetch nothing"
                raise ValueError(message)
            return import_module("weasyprint.urls").URLFetcherResponse(url, self.files[name])

    return Fetcher


def pdf(template: str, context: dict[str, Any], files: dict[str, bytes] | None = None) -> bytes:
    """The template as a PDF; it may show `files` by their names, as `files:<name>`. Raises LibrariesMissing."""
    return drawn(typeset(template, context), files)


def typeset(template: str, context: dict[str, Any]) -> str:
    """The template with the fonts that its letters need."""
    addresses = {"font": FILES_PREFIX + sans().path.name, "files_prefix": FILES_PREFIX}
    context = {**addresses, "sandbox_mark": selection.SANDBOX_MARK, **context}
    more = next_to_dejavu(render_to_string(template, context))
    more_fonts = [(face.name, FILES_PREFIX + face.path.name) for face in more]
    return render_to_string(template, {**context, "more_fonts": more_fonts})


def drawn(text: str, files: dict[str, bytes] | None = None) -> bytes:
    """The typeset document as a PDF. Raises LibrariesMissing."""
    weasyprint = _weasyprint()
    fonts = {face.path.name: face.path.read_bytes() for face in (sans(), *next_to_dejavu(text))}
    fetcher = _fetcher_class()({**fonts, **(files or {})})
    result: bytes = weasyprint.HTML(string=text, base_url=None, url_fetcher=fetcher).write_pdf()
    return result


def direction(text: str) -> str:
    """The direction of a text, from its first character with a strong direction."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in {"R", "AL"}:
            return "rtl"
        if kind == "L":
            break
    return "ltr"


def day_of(moment: datetime, brand: Brand, text: str = "j F Y") -> str:
    """The date of a moment in the brand's time zone."""
    return date_format(moment.astimezone(brand.zone), text)


def cover_sheet(run: PrintRun) -> bytes:
    """The cover sheet that accompanies the file to the print shop, in English. Raises LibrariesMissing."""
    print_request = PrintRequest.from_json(run.settings)
    level = Level[print_request.level or Level.M.name]
    image = images.png(text=specimen(run, print_request), size_mm=SPECIMEN_MM, level=level)
    with languages.in_english():
        context = {
            "run": run,
            "brand": run.brand,
            "product": run.batch.product if run.batch else None,
            "started": day_of(run.started_at, run.brand, "j M Y, H:i T"),
            "settings": settings_of(run),
            "specimen_mm": format_length(SPECIMEN_MM),
            "dir": {"brand": direction(run.brand.name), "batch": direction(run.batch.range_name if run.batch else "")},
        }
        text = typeset("authcodes/documents/cover_sheet.html", context)
    return drawn(text, {"specimen.png": image})


def specimen(run: PrintRun, print_request: PrintRequest) -> str:
    """A specimen as long as a code of the run, with as many modules, but not a code: scanning it uses up no code."""
    hostname = hostname_of(run.brand_id)
    code = (SPECIMEN * 8)[: len(run.first_code)]
    if run.batch and run.batch.is_signed:
        code += TAG_SEPARATOR + "0" * LENGTH
    if print_request.payload == PrintRun.QrContent.CODE:
        return code
    if print_request.payload == PrintRun.QrContent.GS1:
        return selection.digital_link(hostname=hostname, gtin="", serial=code)
    return scan_address(hostname, code)


def settings_of(run: PrintRun) -> list[tuple[str, str]]:
    """The settings of the run, as names and values."""
    print_request = PrintRequest.from_json(run.settings)
    content = PrintRun.QrContent(print_request.payload).label
    lines = [(_("QR code content"), str(content)), (_("Error correction"), print_request.level or _("From each batch"))]
    if not print_request.is_labels:
        return [*lines, (_("Image size"), f"{format_length(print_request.image_mm)} mm")]
    if not print_request.sheet and print_request.preset not in PRESETS:  # of an earlier release
        return [*lines, (_("Sheet"), print_request.preset)]
    design = print_request.design()
    sheet = design.sheet
    name = str(PRESETS[print_request.fitting_preset.name].title) if not print_request.sheet else _("Custom")
    page = f"{format_length(sheet.page_width)} x {format_length(sheet.page_height)} mm"
    label = f"{format_length(sheet.label_width)} x {format_length(sheet.label_height)} mm"
    return [
        *lines,
        (_("QR code size"), f"{format_length(design.qr_mm)} mm"),
        (_("Layout"), layout_summary(print_request)),
        (_("Sheet"), name),
        (_("Page"), page),
        (_("Label"), label),
        (_("Labels per page"), f"{sheet.columns} x {sheet.rows}"),
        (_("Start at label number"), str(print_request.start)),
        (_("Order"), _("Column by column") if print_request.by_column else _("Row by row")),
        (_("Cut marks"), _("Yes") if print_request.cut_marks else _("No")),
        (_("Logo"), logo_summary(print_request)),
        (_("Label text"), print_request.note or "-"),
        (_("Printer"), print_request.printer or "-"),
        (_("Shifted by"), f"{format_length(print_request.offset_x)} / {format_length(print_request.offset_y)} mm"),
        (_("Scaled by"), format_length(print_request.scale)),
    ]


def logo_summary(print_request: PrintRequest) -> str:
    """Which of the brand's logos was printed, as it may have had several."""
    if print_request.logo_sha256:
        return _("Yes, SHA-256 %(start)s…") % {"start": print_request.logo_sha256[:12]}
    return _("Yes") if print_request.logo else _("No")


def layout_summary(print_request: PrintRequest) -> str:
    if print_request.parts is None:
        return _("Automatic")
    return print_request.layout or _("Placed by hand")
