"""What the print studio shows of a print before it is made: the label, page 1, what is wrong, what to consider."""

import base64
import io
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from authcodes.admin.printing.access import MAX_EARLIER_RUNS, offered
from authcodes.admin.printing.list_print import rows_of
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.printing import checks, runs
from authcodes.printing.labels import preview, suggested
from authcodes.printing.labels.design import Design, coarse_enough_mm
from authcodes.printing.labels.parts import Part, PartName
from authcodes.printing.labels.presets import Sheet
from authcodes.printing.labels.sheet_pdf import write
from authcodes.printing.qr import images
from authcodes.printing.qr.verification import proved
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import TEST_MARK, Selection, design_of, label_of, payload_of
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of
from core.errors import DomainError, Invalid
from portal.lists import local_time

MAX_COUNTED = 20_000  # codes that are looked at one by one while somebody types


class Slot(NamedTuple):
    """A label's place on page 1. Lengths in millimetres, as an SVG has them."""

    number: int
    x: str
    y: str
    is_used: bool
    is_first: bool


def glimpse_of(by: User, brand: Brand, query: str) -> Selection:
    """As `list_of`, without counting: what a list begins with tells how its labels look. Raises Invalid."""
    codes = AuthCode.objects.filter(brand=brand, pk__in=rows_of(by, query))
    first = codes.order_by("pk").first()
    if first is None:
        raise Invalid(_("The list has no codes of this brand."))
    return Selection(brand, codes, first.code, first.code, 1)


def pieces(form: Any, select: Callable[[Any], Selection], *, is_whole: bool, is_live: bool) -> dict[str, Any]:
    """What the page shows of what the form asks for, and what is wrong said at the form's fields.

    `is_whole`: `select` gives all codes and not just one of them. `is_live`: it is asked for while somebody types.
    """
    form.full_clean()
    context: dict[str, Any] = {"selection": None, "every_box": {}}
    if not form.is_drawable:
        return context
    try:
        selection, print_request = select(form), form.print_request()
        if form.is_printable:
            checks.check(selection, print_request, thorough=not is_live)
    except DomainError as error:
        form.add_domain_error(error)
        if not form.is_drawable:
            return context
    context |= drawn(form, selection, print_request)
    if form.is_printable:
        context |= said(selection, print_request, is_whole=is_whole, is_live=is_live)
    return context


def drawn(form: Any, selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """The label with its parts, and page 1; or the first image."""
    if not print_request.is_labels:
        return pictured(selection, print_request)
    design = design_of(selection, print_request)
    label = label_of(selection.sample(), print_request, hostname_of(selection.brand.pk))
    visible = [name for name in PartName if form.shows(name, form.cleaned_data)]
    suggestion = suggested.arranged(design, label, visible)
    needed = coarse_enough_mm(design, label)
    context: dict[str, Any] = {
        "every_box": suggestion.boxes,
        "parts": suggestion.of(visible),
        "label": mark_safe(preview.one_label(label, design)),  # noqa: S308 - drawn by us, with texts escaped
        "boxes": [box(name, part) for name, part in suggestion.of(suggestion.placed).items()],
        "label_width": checks.plain(design.sheet.label_width),
        "label_height": checks.plain(design.sheet.label_height),
        "smallest": checks.plain(max(images.MIN_SIZE_MM, needed or Decimal(0))),
    }
    if form.is_printable:
        context |= pictured(selection, print_request)
        context |= {"slots": list(slots(design)), "per_page": design.sheet.per_page, **steps(design)}
    return context


def box(name: str, part: Part) -> dict[str, str]:
    """A part as the page's script moves it."""
    lengths = {length: checks.plain(getattr(part, length)) or "0" for length in ("left", "top", "width", "height")}
    return {"name": name, "label": str(PartName(name).label), **lengths, "centred": "1" if part.centred else ""}


def slots(design: Design) -> Iterator[Slot]:
    for index in range(design.sheet.per_page):
        x, y = design.sheet.place(index, by_column=design.by_column)
        yield Slot(index + 1, f"{x:f}", f"{y:f}", index + 1 < design.start, index + 1 == design.start)


def steps(design: Design) -> dict[str, int]:
    """How many labels on the next one to the right is, and the next one below."""
    sheet: Sheet = design.sheet
    return {"across": sheet.rows, "down": 1} if design.by_column else {"across": 1, "down": sheet.columns}


def said(selection: Selection, print_request: PrintRequest, *, is_whole: bool, is_live: bool) -> dict[str, Any]:
    """How many it prints, what to think about, and what was printed before. What takes long is told when the page is
    opened and not while somebody types.
    """
    result: dict[str, Any] = {"warnings": checks.warnings(selection, print_request, thorough=False)}
    if not is_whole:
        return result
    if not is_live or selection.count <= MAX_COUNTED:
        thorough = checks.warnings(selection, print_request)
        result["code_warnings"] = [text for text in thorough if text not in result["warnings"]]
    before = runs.earlier(selection)[:MAX_EARLIER_RUNS]
    sheet = print_request.design().sheet if print_request.is_labels else None
    return result | {
        "selection": selection,
        "before": [(run, local_time.display_moment(run.started_at, run.brand.zone)) for run in before],
        "pages": sheet.pages(selection.count, start=print_request.start) if sheet else 0,
    }


def pictured(selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """Page 1, or the first image, as the portal shows it."""
    code = selection.sample()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    if print_request.is_labels:
        design = design_of(selection, print_request)
        picture = in_page(preview.preview(runs.first_page(selection, print_request), design), "svg+xml")
        sheet = design.sheet
        width, height = checks.plain(sheet.page_width), checks.plain(sheet.page_height)
        size = {"page_size": f"{width} x {height} mm", "page_width": width, "page_height": height}
        return {"sample": text, "qr_mm": checks.plain(design.qr_mm), "picture": picture, **size}
    image = images.png(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    picture = in_page(proved(image, text, kind="png", code=code.code), "png")
    return {"sample": text, "qr_mm": checks.plain(print_request.image_mm), "picture": picture}


def in_page(image: bytes, kind: str) -> str:
    """An image as the address that holds it: the portal's pages may show those, and nothing has to be stored."""
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


def trial_print(selection: Selection, print_request: PrintRequest) -> HttpResponse:
    """The first page, with a mark across its labels, or the first image: to be tried on paper. Raises Invalid."""
    checks.check(selection, print_request)
    if print_request.is_labels:
        file = io.BytesIO()
        labels = runs.VerificationProgress().of(iter(runs.first_page(selection, print_request)))
        write(file, labels, design_of(selection, print_request, mark=TEST_MARK))
        return pdf(file.getvalue(), "test-page.pdf")
    draw = images.svg if print_request.what == PrintRun.What.SVG else images.png
    code = selection.sample()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    image = draw(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    kind = "image/svg+xml" if print_request.what == PrintRun.What.SVG else "image/png"
    return offered(proved(image, text, kind=print_request.what, code=code.code), f"code-1.{print_request.what}", kind)


def pdf(content: bytes, name: str) -> HttpResponse:
    return offered(content, name, "application/pdf")
