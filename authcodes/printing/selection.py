"""The codes of a print run, and the label of each."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from django.db.models import Func, IntegerField, Q
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes.codes.ranges import CodeRange
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.qr import images
from authcodes.printing.request import PrintRequest, QrContent
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of, site_at
from core import languages
from core.errors import Invalid
from core.gtins import GTIN_LENGTH

SANDBOX_MARK = "SANDBOX"
TEST_MARK = "TEST"  # on test prints
PORTION = 2000  # codes read at once


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes to print, all of one brand: a range of a batch, or the codes of a list."""

    brand: Brand
    codes: AuthCodeQuerySet
    first: str
    last: str
    count: int
    batch: BatchRange | None = None
    is_counted: bool = True  # False: a list so long that first, last and count are those of its first code alone

    def first_code(self) -> AuthCode:
        """Raises Invalid if the list has become empty."""
        code = next(streamed(self.codes, portion=1), None)
        if code is None:
            raise Invalid(_("The list has no codes of this brand."))
        return code

    def densest_codes(self) -> Iterator[AuthCode]:
        """Of each batch the codes among which the densest symbol is. In batches of ours all symbols are as dense."""
        used = self.codes.order_by().values("batch").distinct()
        batches = [self.batch] if self.batch else BatchRange.objects.filter(pk__in=used).iterator(PORTION)
        return (code for batch in batches for code in densest_codes_of(batch))


def densest_codes_of(batch: BatchRange) -> list[AuthCode]:
    """One code; of a batch that was printed elsewhere up to two: the longest content of each QR mode, as characters
    outside of the alphanumeric mode take more modules."""
    if batch.printed_elsewhere:
        codes = AuthCode.objects.filter(batch=batch, payload__isnull=False).select_related("batch", "product")
        size = Func("payload", function="octet_length", output_field=IntegerField())
        alphanumeric = Q(payload__regex=r"^[0-9A-Z $%*+./:-]*$")
        each = [codes.filter(mode).order_by(size.desc()).first() for mode in (alphanumeric, ~alphanumeric)]
        if longest := [code for code in each if code]:
            return longest
    return [AuthCode(code=batch.first_code, batch=batch, brand_id=batch.brand_id)]


def of_range(code_range: CodeRange) -> Selection:
    return Selection(
        code_range.batch.brand, code_range.codes, code_range.first, code_range.last, code_range.size, code_range.batch
    )


def payload_of(code: AuthCode, print_request: PrintRequest, hostname: str) -> str:
    """The content of the QR symbol; the API reads each kind."""
    if code.payload is not None:
        return code.payload
    if print_request.payload == QrContent.CODE:
        return images.printed(code)
    if print_request.payload == QrContent.GS1:
        gtin = code.product.gtin if code.product else ""
        return digital_link(hostname=hostname, gtin=gtin, serial=images.printed(code))
    return images.payload(code=code, hostname=hostname)


def digital_link(*, hostname: str, gtin: str, serial: str) -> str:
    """A GS1 Digital Link URI for one item: its GTIN (AI 01, always 14 digits) and serial number (AI 21)."""
    return f"{site_at(hostname)}/01/{gtin.zfill(GTIN_LENGTH)}/21/{serial}"


def logo_of(brand_id: int) -> bytes | None:
    """The brand's logo as a PNG."""
    chunk = Brand.objects.filter(pk=brand_id).values_list("logo__content", flat=True).first()
    return bytes(chunk) if chunk else None


def design_of(selection: Selection, print_request: PrintRequest, *, mark: str = "") -> Design:
    """The design of these codes' labels, with the brand's logo if requested. `mark`: across each label.

    Raises Invalid if the brand's logo has changed since the run was started.
    """
    logo = logo_of(selection.brand.pk) if print_request.logo else None
    if print_request.logo_sha256 and sha256_of(logo) != print_request.logo_sha256:
        raise Invalid(_("The brand's logo changed after this run was started. Check the labels and start it again."))
    return replace(print_request.design(logo), mark=SANDBOX_MARK if selection.brand.is_sandbox else mark)


def sha256_of(logo: bytes | None) -> str:
    return hashlib.sha256(logo).hexdigest() if logo else ""


def label_of(code: AuthCode, print_request: PrintRequest, hostname: str) -> Label:
    product, day = code.product, code.batch.expiration_date
    expiry = ""
    if day and print_request.expiry:
        with languages.in_english():  # a worker prints it, so the preview must look the same in any language
            expiry = gettext_noop("Expires %(day)s") % {"day": date_format(day, "SHORT_DATE_FORMAT")}
    return Label(
        payload_of(code, print_request, hostname),
        images.printed(code),
        title=product.title if product and print_request.title else "",
        sku=product.sku if product and print_request.sku else "",
        expiry=expiry,
        note=print_request.note,
        level=print_request.level_of(code.batch),
    )


def streamed(codes: AuthCodeQuerySet, *, portion: int = PORTION) -> Iterator[AuthCode]:
    """Codes in the order they were made; only one portion at a time is in memory."""
    rows = codes.select_related(None).select_related("batch", "product").order_by("pk")
    last = 0
    while chunk := list(rows.filter(pk__gt=last)[:portion]):
        yield from chunk
        last = chunk[-1].pk


def labels(selection: Selection, print_request: PrintRequest, *, most: int | None = None) -> Iterator[Label]:
    """The labels of these codes, or of the first `most`."""
    hostname = hostname_of(selection.brand.pk)
    codes = streamed(selection.codes, portion=min(most or PORTION, PORTION))
    return (label_of(code, print_request, hostname) for code in islice(codes, most))
