"""Checks of a print request: what cannot be printed, and what to warn about."""

from decimal import Decimal

from django.utils.translation import gettext as _

from authcodes.codes.gtins import is_gtin
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.printing.labels import design, text_layout
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import side, symbol
from authcodes.printing.request import MAX_NOTE_LENGTH, Payload, PrintRequest
from authcodes.printing.selection import Selection, label_of, logo_of, payload_of
from brands.tenants.hostnames import hostname_of
from core.errors import Invalid

MAX_SERIAL_LENGTH = 20  # characters of a GS1 serial number (AI 21)
MAX_PRODUCTS = 200  # whose titles are looked at for letters that labels cannot show


def check(selection: Selection, wanted: PrintRequest) -> None:
    """Raises Invalid, naming the setting where it is one, for what cannot or must not be printed."""
    if selection.codes.filter(batch__recall__isnull=False).exists():
        raise Invalid(_("Codes of a recalled batch are not printed. Withdraw the recall first."))
    if wanted.is_labels:
        wanted.design().check()
        _check_label(selection, wanted)
    elif not images.MIN_SIZE_MM <= wanted.image_mm <= images.MAX_SIZE_MM:
        sizes = {"least": images.MIN_SIZE_MM, "most": images.MAX_SIZE_MM}
        raise Invalid(_("Choose a size between %(least)s and %(most)s mm.") % sizes, details={"field": "size_mm"})
    if wanted.payload != Payload.CODE and not hostname_of(selection.brand.pk):
        words = _("The brand has no hostname to print. Add one, or print the code only.")
        raise Invalid(words, details={"field": "payload"})
    if wanted.payload == Payload.GS1:
        _check_gs1(selection)


def _check_label(selection: Selection, wanted: PrintRequest) -> None:
    if len(wanted.note) > MAX_NOTE_LENGTH:
        raise design.wrong("note", _("A note has at most %(most)d characters.") % {"most": MAX_NOTE_LENGTH})
    if wanted.logo and logo_of(selection.brand.pk) is None:
        raise design.wrong("logo", _("The brand has no logo yet. Add one on the brand's page, or print without."))


def _check_gs1(selection: Selection) -> None:
    """Each code needs a product with a real GTIN, and fits a serial number."""
    codes = selection.codes.filter(brand=selection.brand).order_by()
    gtins = dict(Product.objects.filter(brand=selection.brand).values_list("pk", "gtin"))
    lacking = [pk for pk, gtin in gtins.items() if not gtin]
    wrong = [pk for pk, gtin in gtins.items() if gtin and not is_gtin(gtin)]
    words = ""
    # The codes are asked for what is wrong, which indexes know, and not what they all have.
    if codes.filter(product__isnull=True).exists() or (lacking and codes.filter(product__in=lacking).exists()):
        words = _("Some of these codes have no product with a GTIN, which a GS1 Digital Link needs.")
    elif wrong and (found := codes.filter(product__in=wrong).values_list("product__gtin", flat=True)[:1]):
        words = _("The GTIN %(gtin)s has a wrong check digit.") % {"gtin": found[0]}
    elif any(len(images.printed(code)) > MAX_SERIAL_LENGTH for code in selection.samples()):
        words = _("A GS1 serial number has at most %(most)d characters. Some printed codes are longer.")
        words %= {"most": MAX_SERIAL_LENGTH}
    if words:
        raise Invalid(words, details={"field": "payload"})


def warnings(selection: Selection, wanted: PrintRequest, *, thorough: bool = True) -> list[str]:
    """What to think about before paper is used. If not `thorough`, what the first code and the settings tell."""
    found = []
    if thorough and (off := selection.codes.filter(brand=selection.brand).deactivated().count()):
        words = _("%(count)s of these codes are deactivated. They will be printed but scan as not valid.")
        found.append(words % {"count": f"{off:,}"})
    if wanted.is_labels:
        return [*found, *_sheet_warnings(wanted), *_label_warnings(selection, wanted, thorough=thorough)]
    densest = densest_of(selection, wanted) if thorough else selection.sample()
    sample = payload_of(densest, wanted, hostname_of(selection.brand.pk))
    across = images.module_mm(symbol(sample, wanted.level_of(densest.batch)), wanted.image_mm)
    if across < images.MIN_MODULE_MM:
        told = {"across": f"{across:.3f}", "least": images.MIN_MODULE_MM}
        words = _("A module would be %(across)s mm wide. Codes below %(least)s mm may not scan. Print them larger.")
        found.append(words % told)
    return found


def densest_of(selection: Selection, wanted: PrintRequest) -> AuthCode:
    """A code like those whose symbols have the most modules."""
    hostname = hostname_of(selection.brand.pk)

    def modules(code: AuthCode) -> int:
        return side(payload_of(code, wanted, hostname), wanted.level_of(code.batch))

    return max(selection.samples(), key=modules)


def _sheet_warnings(wanted: PrintRequest) -> list[str]:
    """Where the size and the number of labels cannot both be had, the size is."""
    if wanted.sheet or wanted.fitting == PRESETS[wanted.preset]:
        return []
    told = {"size": plain(wanted.size_mm), "chosen": PRESETS[wanted.preset].title, "other": wanted.fitting.title}
    return [_("Codes of %(size)s mm do not fit “%(chosen)s”. “%(other)s” will be printed instead.") % told]


def _label_warnings(selection: Selection, wanted: PrintRequest, *, thorough: bool) -> list[str]:
    hostname = hostname_of(selection.brand.pk)
    sample = label_of(selection.sample(), wanted, hostname)
    densest = label_of(densest_of(selection, wanted), wanted, hostname) if thorough else sample
    words = [sample.text, *sample.details]
    if thorough and (wanted.title or wanted.sku):
        used = selection.codes.order_by().values("product").distinct()
        for title, sku in Product.objects.filter(pk__in=used).values_list("title", "sku")[:MAX_PRODUCTS]:
            words += [title] if wanted.title else []
            words += [sku] if wanted.sku else []
    missing = "".join(dict.fromkeys("".join(map(text_layout.unknown, words))))
    return [*design.module_warnings(wanted.design(), densest), *design.letter_warnings(missing)]


def plain(length: Decimal | None) -> str:
    """A length without zeros at its end."""
    return "" if length is None else f"{length.normalize():f}"
