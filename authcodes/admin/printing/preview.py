"""What the print studio shows before a print is made: the label, page 1, errors and warnings."""

import base64
import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.safestring import SafeString, mark_safe

from authcodes.admin.printing.access import MAX_EARLIER_RUNS
from authcodes.models.prints import PrintRun
from authcodes.printing import checks, runs
from authcodes.printing.labels import preview, suggested_boxes
from authcodes.printing.labels.design import Design, coarse_enough_mm
from authcodes.printing.labels.parts import Part, PartName
from authcodes.printing.labels.presets import Sheet
from authcodes.printing.labels.sheet_pdf import write
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import TooLong
from authcodes.printing.qr.verification import verify
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import TEST_MARK, Selection, design_of, label_of, payload_of
from brands.tenants.hostnames import hostname_of
from core.errors import DomainError
from core.numbers import format_number
from portal.import_export.downloads import as_attachment
from portal.lists import local_time

MAX_COUNTED = 20_000  # codes that are counted and checked before Print is pressed


class Slot(NamedTuple):
    """A label's position on page 1. Lengths are in millimetres, as in an SVG."""

    number: int
    x: str
    y: str
    is_used: bool
    is_first: bool


def preview_context(form: Any, select: Callable[[Any], Selection], *, is_thorough: bool = False) -> dict[str, Any]:
    """The preview of what the form asks for; adds errors to the form's fields.

    `is_thorough`: check all codes, however many there are.
    """
    form.full_clean()
    context: dict[str, Any] = {"selection": None, "all_boxes": {}}
    if not form.is_drawable:
        return context
    try:
        selection, print_request = select(form), form.print_request()
        is_thorough = is_thorough or is_small(selection)
        if form.is_printable:
            checks.check(selection, print_request, thorough=is_thorough)
        elif print_request.is_labels:
            print_request.design().sheet.check()  # a label without a size cannot be drawn
            checks.check_level(selection, print_request, thorough=False)
    except DomainError as error:
        form.add_domain_error(error)
        if not form.is_drawable:
            return context
    try:
        context |= label_context(form, selection, print_request)
        if form.is_printable:
            context |= summary_context(selection, print_request, is_thorough=is_thorough)
    except TooLong as error:  # of a later code than the first, which alone was checked in a large selection
        form.add_domain_error(error)
    return context


def is_small(selection: Selection) -> bool:
    """Whether all codes can be checked each time the page is shown."""
    return selection.is_counted and selection.count <= MAX_COUNTED


def label_context(form: Any, selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """The label with its parts and page 1; or the first image."""
    if not print_request.is_labels:
        return page_context(selection, print_request)
    design = design_of(selection, print_request)
    label = label_of(selection.first_code(), print_request, hostname_of(selection.brand.pk))
    visible = [name for name in PartName if form.shows(name, form.cleaned_data)]
    suggestion = suggested_boxes.arranged(design, label, visible)
    needed = coarse_enough_mm(design, label)
    context: dict[str, Any] = {
        "all_boxes": suggestion.boxes,
        "parts": suggestion.of(visible),
        "label": mark_safe(preview.one_label(label, design)),  # noqa: S308 - drawn by us, with texts escaped
        "boxes": [box(name, part) for name, part in suggestion.of(suggestion.placed).items()],
        "label_width": checks.format_length(design.sheet.label_width),
        "label_height": checks.format_length(design.sheet.label_height),
        "smallest": checks.format_length(max(images.MIN_SIZE_MM, needed or Decimal(0))),
    }
    if form.is_printable:
        context |= page_context(selection, print_request)
        context |= {"slots": list(slots(design)), "per_page": design.sheet.per_page, **slot_steps(design)}
    return context


def box(name: str, part: Part) -> dict[str, str]:
    """The box of a part, for the page's script."""
    edges = ("left", "top", "width", "height")
    return {"name": name, **{edge: checks.format_length(getattr(part, edge)) or "0" for edge in edges}}


def slots(design: Design) -> Iterator[Slot]:
    for index in range(design.sheet.per_page):
        x, y = design.sheet.place(index, by_column=design.by_column)
        yield Slot(index + 1, f"{x:f}", f"{y:f}", index + 1 < design.start, index + 1 == design.start)


def slot_steps(design: Design) -> dict[str, int]:
    """How many labels further the next one to the right is, and the next one below."""
    sheet: Sheet = design.sheet
    return {"across": sheet.rows, "down": 1} if design.by_column else {"across": 1, "down": sheet.columns}


def summary_context(selection: Selection, print_request: PrintRequest, *, is_thorough: bool) -> dict[str, Any]:
    """The number of codes, warnings, and earlier runs of the same codes. `is_thorough`: check every code, however long
    it takes.
    """
    result: dict[str, Any] = {
        "selection": selection,
        "warnings": checks.warnings(selection, print_request, thorough=False),
    }
    if not selection.is_counted:
        return result | {"most_counted": format_number(MAX_COUNTED)}
    if is_thorough:
        thorough = checks.warnings(selection, print_request)
        result["code_warnings"] = [text for text in thorough if text not in result["warnings"]]
        result["previewed"] = f"{selection.count}:{digest_of(result['code_warnings'])}"
    sheet = print_request.design().sheet if print_request.is_labels else None
    return result | {
        "number": format_number(selection.count),
        "before": earlier_runs(selection),
        "pages": sheet.pages(selection.count, start=print_request.start) if sheet else 0,
    }


def earlier_runs(selection: Selection) -> list[tuple[PrintRun, SafeString]]:
    """The latest runs that printed some of these codes, with their times."""
    latest = runs.earlier(selection)[:MAX_EARLIER_RUNS]
    return [(run, local_time.display_moment(run.started_at, run.brand.zone)) for run in latest]


def digest_of(warnings: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(warnings).encode()).hexdigest()[:16] if warnings else ""


def is_outdated(displayed: str, context: dict[str, Any]) -> bool:
    """Whether the number of codes or the warnings changed since the page that sent `displayed`.

    A small selection needs no preview first: a page that sent none is accepted.
    """
    selection: Selection = context["selection"]
    number, _colon, digest = displayed.partition(":")
    if not number and is_small(selection):
        return False
    is_another_list = selection.batch is None and number != str(selection.count)
    return is_another_list or (bool(context["code_warnings"]) and digest != digest_of(context["code_warnings"]))


def page_context(selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """Page 1, or the first image, for the portal."""
    code = selection.first_code()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    if print_request.is_labels:
        design = design_of(selection, print_request)
        picture = in_page(preview.preview(runs.first_page(selection, print_request), design), "svg+xml")
        sheet = design.sheet
        width, height = checks.format_length(sheet.page_width), checks.format_length(sheet.page_height)
        size = {"page_size": f"{width} x {height} mm", "page_width": width, "page_height": height}
        return {"sample": text, "qr_mm": checks.format_length(design.qr_mm), "picture": picture, **size}
    image = images.png(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    picture = in_page(verify(image, text, kind="png", code=code.code), "png")
    return {"sample": text, "qr_mm": checks.format_length(print_request.image_mm), "picture": picture}


def in_page(image: bytes, kind: str) -> str:
    """The image as a data URL: the portal's pages may show those, and nothing needs storing."""
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


def test_print(selection: Selection, print_request: PrintRequest) -> HttpResponse:
    """The first page with TEST across its labels, or the first image. Raises Invalid."""
    checks.check(selection, print_request, thorough=is_small(selection))
    if print_request.is_labels:
        file = io.BytesIO()
        labels = runs.VerificationProgress().of(iter(runs.first_page(selection, print_request)))
        write(file, labels, design_of(selection, print_request, mark=TEST_MARK))
        return pdf(file.getvalue(), "test-page.pdf")
    draw = images.svg if print_request.output == PrintRun.Output.SVG else images.png
    code = selection.first_code()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    image = draw(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    kind = "image/svg+xml" if print_request.output == PrintRun.Output.SVG else "image/png"
    content = verify(image, text, kind=print_request.output, code=code.code)
    return as_attachment(HttpResponse(content, content_type=kind), f"code-1.{print_request.output}")


def pdf(content: bytes, name: str) -> HttpResponse:
    return as_attachment(HttpResponse(content, content_type="application/pdf"), name)
