"""Previews of print runs: the first page or image, before anything is printed."""

import base64
import io
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from authcodes.admin.printing.access import NOT_FIELDS, offered
from authcodes.admin.printing.list_print import rows_of
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.printing import checks, runs
from authcodes.printing.labels.preview import preview
from authcodes.printing.labels.sheet_pdf import write
from authcodes.printing.qr import images
from authcodes.printing.qr.verification import proved
from authcodes.printing.request import PrintRequest
from authcodes.printing.selection import Selection, design_of, payload_of
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of
from core.errors import DomainError, Invalid


def glimpse_of(by: User, brand: Brand, query: str) -> Selection:
    """As `list_of`, without counting: what a list begins with tells how its labels look. Raises Invalid."""
    codes = AuthCode.objects.filter(brand=brand, pk__in=rows_of(by, query))
    first = codes.order_by("pk").first()
    if first is None:
        raise Invalid(_("The list has no codes of this brand."))
    return Selection(brand, codes, first.code, first.code, 1)


def pictured(selection: Selection, print_request: PrintRequest) -> dict[str, Any]:
    """Page 1, or the first image, as the portal shows it."""
    code = selection.sample()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    if print_request.is_labels:
        design = design_of(selection, print_request)
        picture = in_page(preview(runs.first_page(selection, print_request), design), "svg+xml")
        sheet = design.sheet
        size = f"{checks.plain(sheet.page_width)} x {checks.plain(sheet.page_height)} mm"
        return {"sample": text, "qr_mm": checks.plain(design.qr_mm), "picture": picture, "page_size": size}
    image = images.png(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    picture = in_page(proved(image, text, kind="png", code=code.code), "png")
    return {"sample": text, "qr_mm": checks.plain(print_request.image_mm), "picture": picture}


def live_preview(request: HttpRequest, form: Any, select: Callable[[], Selection]) -> HttpResponse:
    """Page 1 while the form is being filled in, and what is wrong with it; what takes long is told before printing."""
    page_context: dict[str, Any] = {}
    if form.is_valid():
        try:
            selection, print_request = select(), form.print_request()
            checks.check(selection, print_request)
            page_context = {
                **pictured(selection, print_request),
                "warnings": checks.warnings(selection, print_request, thorough=False),
            }
        except DomainError as error:
            form.add_domain_error(error)
    requested = {name: value for name, value in request.GET.items() if name not in {*NOT_FIELDS, "list"}}
    calibration = f"{reverse('admin:authcodes_printrun_calibration')}?{urlencode(requested)}"
    context = {**page_context, "wrong": form.complaints, "calibration": calibration}
    return TemplateResponse(request, "admin/authcodes/print/live.html", context)


def in_page(image: bytes, kind: str) -> str:
    """An image as the address that holds it: the portal's pages may show those, and nothing has to be stored."""
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


def preview_address(request: HttpRequest, preview_url: str, listed: str = "", **_context: Any) -> str:
    """Where the first page is as it would be printed."""
    requested = {name: value for name, value in request.POST.items() if name not in NOT_FIELDS}
    return f"{preview_url}?{urlencode({**requested, 'list': listed})}"


def respond_preview(form: Any, select: Callable[[], Selection]) -> HttpResponse:
    """The first page, or the first image, as it would be printed; what cannot be is not there."""
    if not form.is_valid():
        raise Http404
    try:
        selection, print_request = select(), form.print_request()
        checks.check(selection, print_request)
    except DomainError:
        raise Http404 from None
    if print_request.is_labels:
        file = io.BytesIO()
        labels = runs.VerificationProgress().of(iter(runs.first_page(selection, print_request)))
        write(file, labels, design_of(selection, print_request))
        return pdf(file.getvalue(), "page-1.pdf")
    draw = images.svg if print_request.what == PrintRun.What.SVG else images.png
    code = selection.sample()
    text = payload_of(code, print_request, hostname_of(selection.brand.pk))
    image = draw(text=text, size_mm=print_request.image_mm, level=print_request.level_of(code.batch))
    kind = "image/svg+xml" if print_request.what == PrintRun.What.SVG else "image/png"
    return offered(proved(image, text, kind=print_request.what, code=code.code), f"code-1.{print_request.what}", kind)


def pdf(content: bytes, name: str) -> HttpResponse:
    return offered(content, name, "application/pdf")
