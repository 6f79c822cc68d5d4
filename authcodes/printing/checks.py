"""Checks of a print request: what cannot be printed, and what to warn about."""

from collections.abc import Iterable
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authcodes.models.codes import AuthCode, AuthCodeQuerySet, codes_recalled
from authcodes.models.products import Product
from authcodes.printing.labels import design, text_layout
from authcodes.printing.labels.custom_layout import Arrangement
from authcodes.printing.labels.presets import wrong
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import side, symbol
from authcodes.printing.request import MAX_NOTE_LENGTH, PrintRequest, QrContent
from authcodes.printing.selection import Selection, label_of, logo_of, payload_of
from brands.tenants.hostnames import hostname_of
from core.errors import Invalid
from core.gtins import is_gtin
from core.numbers import grouped

MAX_SERIAL_LENGTH = 20  # characters of a GS1 serial number (AI 21)
MIN_CODE_PT = 4  # of the code on a label with the brand's own layout
MAX_CHECKED_PRODUCTS = 200  # whose titles are checked for letters that labels cannot show


def check(selection: Selection, print_request: PrintRequest, *, thorough: bool = True) -> None:
    """Raises Invalid, with the setting if there is one, for what cannot or must not be printed. Unless `thorough`, only
    the first code of a list is checked.
    """
    codes = selection.codes
    if not thorough and selection.batch is None:
        codes = AuthCode.objects.filter(pk=selection.first_code().pk)
    if codes.filter(codes_recalled()).exists():
        raise Invalid(_("Recalled codes are not printed. Choose other codes, or withdraw the recall first."))
    if print_request.is_labels:
        print_request.design().check()
        _check_label(selection, print_request)
    elif not images.MIN_SIZE_MM <= print_request.image_mm <= images.MAX_SIZE_MM:
        sizes = {"least": images.MIN_SIZE_MM, "most": images.MAX_SIZE_MM}
        raise Invalid(_("Choose a size between %(least)s and %(most)s mm.") % sizes, details={"field": "size_mm"})
    if print_request.payload != QrContent.CODE and not hostname_of(selection.brand.pk):
        message = _("The brand has no hostname to print. Add one, or print the code only.")
        raise Invalid(message, details={"field": "payload"})
    if print_request.payload == QrContent.GS1:
        _check_gs1(selection, codes, thorough=thorough)
    check_level(selection, print_request, thorough=thorough)
    if print_request.is_labels and print_request.parts is not None:
        _check_parts(selection, print_request, thorough=thorough)


def check_level(selection: Selection, print_request: PrintRequest, *, thorough: bool) -> None:
    """Raises TooLong if a code's content does not fit into a symbol at its level of error correction."""
    hostname = hostname_of(selection.brand.pk)
    for code in _checked_codes(selection, thorough=thorough):
        side(payload_of(code, print_request, hostname), print_request.level_of(code.batch))


def _checked_codes(selection: Selection, *, thorough: bool) -> Iterable[AuthCode]:
    return selection.densest_codes() if thorough else [selection.first_code()]


def _check_label(selection: Selection, print_request: PrintRequest) -> None:
    if len(print_request.note) > MAX_NOTE_LENGTH:
        raise wrong("note", _("The label text has at most %(most)d characters.") % {"most": MAX_NOTE_LENGTH})
    if print_request.logo and logo_of(selection.brand.pk) is None:
        raise wrong("logo", _("The brand has no logo yet. Add one on the brand's page, or print without."))


def _check_parts(selection: Selection, print_request: PrintRequest, *, thorough: bool) -> None:
    """For the brand's own layout: whether every symbol is coarse enough for cameras, and every code is readable."""
    hostname, label_design = hostname_of(selection.brand.pk), print_request.design()
    if label_design.parts is None:
        return
    place = Arrangement(label_design, label_design.parts)
    for code in _checked_codes(selection, thorough=thorough):
        label = label_of(code, print_request, hostname)
        if needed := design.coarse_enough_mm(label_design, label):
            message = _(
                "The QR code is too small for its content. Make it at least %(needed)s mm, or choose a lower "
                "error correction."
            )
            raise wrong("qr_width", message % {"needed": needed})
        if place.code_line(label).size < MIN_CODE_PT:
            raise wrong("code_width", _("The code is too small to read. Make it wider and higher."))


def _check_gs1(selection: Selection, codes: AuthCodeQuerySet, *, thorough: bool) -> None:
    """Each code needs a product with a valid GTIN, and must fit into a serial number."""
    codes = codes.filter(brand=selection.brand).order_by()
    gtins = dict(Product.objects.filter(brand=selection.brand).values_list("pk", "gtin"))
    lacking = [pk for pk, gtin in gtins.items() if not gtin]
    mistyped = [pk for pk, gtin in gtins.items() if gtin and not is_gtin(gtin)]
    text = ""
    # Queries for what is wrong, which indexes answer, instead of reading all codes.
    if codes.filter(product__isnull=True).exists() or (lacking and codes.filter(product__in=lacking).exists()):
        text = _("Some of these codes have no product with a GTIN, which a GS1 Digital Link needs.")
    elif mistyped and (rows := codes.filter(product__in=mistyped).values_list("product__gtin", flat=True)[:1]):
        text = _("The GTIN %(gtin)s has a wrong check digit.") % {"gtin": rows[0]}
    elif any(len(images.printed(code)) > MAX_SERIAL_LENGTH for code in _checked_codes(selection, thorough=thorough)):
        text = _("A GS1 serial number has at most %(most)d characters. Some printed codes are longer.")
        text %= {"most": MAX_SERIAL_LENGTH}
    if text:
        raise Invalid(text, details={"field": "payload"})


def warnings(selection: Selection, print_request: PrintRequest, *, thorough: bool = True) -> list[str]:
    """Warnings before paper is used. Unless `thorough`, only those about the first code and the settings."""
    result = []
    if thorough and (off := selection.codes.filter(brand=selection.brand).deactivated().count()):
        message = ngettext(
            "%(count)s of these codes is deactivated. It will be printed but scans as not valid.",
            "%(count)s of these codes are deactivated. They will be printed but scan as not valid.",
            off,
        )
        result.append(message % {"count": grouped(off)})
    if print_request.is_labels:
        return [*result, *_sheet_warnings(print_request), *_label_warnings(selection, print_request, thorough=thorough)]
    densest = densest_of(selection, print_request, thorough=thorough)
    sample = payload_of(densest, print_request, hostname_of(selection.brand.pk))
    across = images.module_mm(symbol(sample, print_request.level_of(densest.batch)), print_request.image_mm)
    if across < images.MIN_MODULE_MM:
        values = {"across": f"{across:.3f}", "least": images.MIN_MODULE_MM}
        message = _(
            "A module would be %(across)s mm wide. Codes with modules narrower than %(least)s mm may not scan. "
            "Print them larger."
        )
        result.append(message % values)
    return result


def densest_of(selection: Selection, print_request: PrintRequest, *, thorough: bool = True) -> AuthCode:
    """A code whose symbol has the most modules; unless `thorough`, the first code. Raises TooLong."""
    hostname = hostname_of(selection.brand.pk)

    def modules(code: AuthCode) -> int:
        return side(payload_of(code, print_request, hostname), print_request.level_of(code.batch))

    return max(_checked_codes(selection, thorough=thorough), key=modules)


def _sheet_warnings(print_request: PrintRequest) -> list[str]:
    """If the size and the number of labels do not fit together, the size wins."""
    if print_request.sheet or print_request.fitting_preset == print_request.chosen_preset:
        return []
    values = {
        "size": format_length(print_request.size_mm),
        "chosen": print_request.chosen_preset.title,
        "other": print_request.fitting_preset.title,
    }
    return [_("Codes of %(size)s mm do not fit “%(chosen)s”. “%(other)s” will be printed instead.") % values]


def _label_warnings(selection: Selection, print_request: PrintRequest, *, thorough: bool) -> list[str]:
    hostname = hostname_of(selection.brand.pk)
    sample = label_of(selection.first_code(), print_request, hostname)
    densest = label_of(densest_of(selection, print_request, thorough=thorough), print_request, hostname)
    text = [sample.text, *sample.details]
    if thorough and (print_request.title or print_request.sku):
        used = selection.codes.order_by().values("product").distinct()
        for title, sku in Product.objects.filter(pk__in=used).values_list("title", "sku")[:MAX_CHECKED_PRODUCTS]:
            text += [title] if print_request.title else []
            text += [sku] if print_request.sku else []
    missing = "".join(dict.fromkeys("".join(map(text_layout.unknown, text))))
    return [*design.module_warnings(print_request.design(), densest), *design.letter_warnings(missing)]


def format_length(length: Decimal | None) -> str:
    """A length without trailing zeros."""
    return "" if length is None else f"{length.normalize():f}"
