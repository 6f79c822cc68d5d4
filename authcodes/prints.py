"""Print runs: the only code that writes PrintRun. Starts and runs the jobs that put codes on paper."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, cast

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from authcodes import archives, designs, jobs, lettering, proofs, qr, sheet_proofs, sheets
from authcodes.designs import Design, Label
from authcodes.gtins import GTIN_LENGTH, is_gtin
from authcodes.labels import DEFAULT_PRESET, PRESETS, Preset, Sheet
from authcodes.models import AuthCode, AuthCodeQuerySet, BatchRange, Job, PrintRun, Product
from authcodes.sheet_proofs import Sample
from authcodes.stretches import Stretch, stretch
from authcodes.symbols import Level, side, symbol
from brands.hosts import hostname_of, site_at
from brands.models import Brand, User
from brands.refusals import Invalid, NotFound

What, Payload = PrintRun.What, PrintRun.Payload
PORTION = 2000  # codes read at once
TELL_SECONDS = 0.5  # between two words about how far it is
LONGEST_SERIAL = 20  # characters of a GS1 serial number (AI 21)
PROCESSES = 2  # that draw and read an archive
ALONE = 2000  # so many images this process draws itself
LONGEST_NOTE = 80  # characters of a note on labels
# One start at a time in a brand: two people who both asked what was printed before would both hear that nothing was.
TURN = "SELECT pg_advisory_xact_lock(7216003, %s::int)"
MOST_PRODUCTS = 200  # whose titles are looked at for letters that labels cannot show


@dataclass(frozen=True, slots=True)
class Wanted:
    """How codes are to be printed. Lengths in millimetres; `sheet` where the preset is none of ours."""

    what: str = What.LABELS.value
    payload: str = Payload.ADDRESS.value
    level: str = ""  # empty: as each code's batch says
    size_mm: Decimal | None = None  # of a code with its quiet zone; None: as the sheet is made for, and of images 2 in
    preset: str = DEFAULT_PRESET
    sheet: Sheet | None = None
    start: int = 1
    by_column: bool = False
    cut_marks: bool = False
    title: bool = True
    sku: bool = False
    expiry: bool = False
    logo: bool = False
    logo_sha256: str = ""  # of the picture that a run prints, once it is started
    note: str = ""
    printer: str = ""  # whose correction this is
    offset_x: Decimal = Decimal(0)
    offset_y: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)

    @property
    def is_labels(self) -> bool:
        return self.what == What.LABELS

    @property
    def image_mm(self) -> Decimal:
        """How wide images are."""
        return self.size_mm or qr.DEFAULT_SIZE_MM

    @property
    def fitting(self) -> Preset:
        """The preset, or where its labels are too small for the size, the one that has the most labels that are not."""
        chosen = PRESETS[self.preset]
        if self.size_mm is None or self.size_mm <= chosen.qr_mm:
            return chosen
        large_enough = [preset for preset in PRESETS.values() if preset.qr_mm >= self.size_mm]
        return max(large_enough, key=lambda preset: preset.sheet.per_page, default=chosen)

    def level_of(self, batch: BatchRange) -> Level:
        return Level[self.level or batch.error_correction]

    def design(self, logo: bytes | None = None) -> Design:
        """The label sheet. Check it before it is used."""
        if self.sheet:
            sheet, qr_mm = self.sheet, self.size_mm or qr.SMALLEST_SIZE_MM
        else:
            sheet, qr_mm = self.fitting.sheet, self.size_mm or self.fitting.qr_mm
        return Design(
            sheet,
            qr_mm,
            logo=logo,
            start=self.start,
            by_column=self.by_column,
            cut_marks=self.cut_marks,
            offset_x=self.offset_x,
            offset_y=self.offset_y,
            scale=self.scale,
        )

    def stored(self) -> dict[str, Any]:
        """As JSON holds it."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self), cls=DjangoJSONEncoder))
        return found

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Wanted":
        """What `stored` wrote."""
        given = {field.name: stored[field.name] for field in fields(cls) if field.name in stored}
        for name in ("size_mm", "offset_x", "offset_y", "scale"):
            if given.get(name) is not None:
                given[name] = Decimal(given[name])
        if given.get("sheet"):
            lengths = {name: Decimal(value) for name, value in given["sheet"].items()}
            counts = {name: int(given["sheet"][name]) for name in ("columns", "rows")}
            given["sheet"] = Sheet(**{**lengths, **counts})  # type: ignore[arg-type] # each has its own field's type
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes to print, all of one brand: a stretch of a batch, or what a list shows."""

    brand: Brand
    codes: AuthCodeQuerySet
    first: str
    last: str
    count: int
    batch: BatchRange | None = None

    def sample(self) -> AuthCode:
        """One of them."""
        return next(streamed(self.codes, portion=1))

    def samples(self) -> Iterator[AuthCode]:
        """One of each batch, whose codes are all as long: nothing else makes one symbol denser than another."""
        used = self.codes.order_by().values("batch").distinct()
        batches = [self.batch] if self.batch else BatchRange.objects.filter(pk__in=used).iterator(PORTION)
        return (AuthCode(code=batch.first_code, batch=batch, brand_id=batch.brand_id) for batch in batches)


def of_stretch(found: Stretch) -> Selection:
    return Selection(found.batch.brand, found.codes, found.first, found.last, found.size, found.batch)


def check(selection: Selection, wanted: Wanted) -> None:
    """Raises Invalid, naming the setting where it is one, for what cannot or must not be printed."""
    if selection.codes.filter(batch__recall__isnull=False).exists():
        raise Invalid(_("Codes of a recalled batch are not printed. Lift the recall first."))
    if wanted.is_labels:
        wanted.design().check()
        _check_label(selection, wanted)
    elif not qr.SMALLEST_SIZE_MM <= wanted.image_mm <= qr.LARGEST_SIZE_MM:
        sizes = {"least": qr.SMALLEST_SIZE_MM, "most": qr.LARGEST_SIZE_MM}
        raise Invalid(_("Choose a size between %(least)s and %(most)s mm.") % sizes, details={"field": "size_mm"})
    if wanted.payload != Payload.CODE and not hostname_of(selection.brand.pk):
        words = _("The brand has no hostname to print. Add one, or print the code alone.")
        raise Invalid(words, details={"field": "payload"})
    if wanted.payload == Payload.GS1:
        _check_gs1(selection)


def _check_label(selection: Selection, wanted: Wanted) -> None:
    if len(wanted.note) > LONGEST_NOTE:
        raise designs.wrong("note", _("A note has at most %(most)d characters.") % {"most": LONGEST_NOTE})
    if wanted.logo and logo_of(selection.brand.pk) is None:
        raise designs.wrong("logo", _("The brand has no logo yet. Add one on the brand's page, or print without."))


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
    elif any(len(qr.printed(code)) > LONGEST_SERIAL for code in selection.samples()):
        words = _("A GS1 serial number has at most %(most)d characters; these codes are longer as they are printed.")
        words %= {"most": LONGEST_SERIAL}
    if words:
        raise Invalid(words, details={"field": "payload"})


def warnings(selection: Selection, wanted: Wanted, *, thorough: bool = True) -> list[str]:
    """What to think about before paper is used. If not `thorough`, what the first code and the settings tell."""
    found = []
    if thorough and (off := selection.codes.filter(brand=selection.brand).deactivated().count()):
        words = _("%(count)s of these codes are deactivated. They are printed, and scan as not valid.")
        found.append(words % {"count": f"{off:,}"})
    if wanted.is_labels:
        return [*found, *_sheet_warnings(wanted), *_label_warnings(selection, wanted, thorough=thorough)]
    densest = densest_of(selection, wanted) if thorough else selection.sample()
    sample = payload_of(densest, wanted, hostname_of(selection.brand.pk))
    across = qr.module_mm(symbol(sample, wanted.level_of(densest.batch)), wanted.image_mm)
    if across < qr.SMALLEST_MODULE_MM:
        told = {"across": f"{across:.3f}", "least": qr.SMALLEST_MODULE_MM}
        words = _("A module would be %(across)s mm wide. Below %(least)s mm codes may not scan: print larger.")
        found.append(words % told)
    return found


def densest_of(selection: Selection, wanted: Wanted) -> AuthCode:
    """A code like those whose symbols have the most modules."""
    hostname = hostname_of(selection.brand.pk)

    def modules(code: AuthCode) -> int:
        return side(payload_of(code, wanted, hostname), wanted.level_of(code.batch))

    return max(selection.samples(), key=modules)


def _sheet_warnings(wanted: Wanted) -> list[str]:
    """Where the size and the number of labels cannot both be had, the size is."""
    if wanted.sheet or wanted.fitting == PRESETS[wanted.preset]:
        return []
    told = {"size": plain(wanted.size_mm), "chosen": PRESETS[wanted.preset].title, "other": wanted.fitting.title}
    return [_("Codes of %(size)s mm do not fit “%(chosen)s”. The size counts: “%(other)s” is printed instead.") % told]


def _label_warnings(selection: Selection, wanted: Wanted, *, thorough: bool) -> list[str]:
    hostname = hostname_of(selection.brand.pk)
    sample = label_of(selection.sample(), wanted, hostname)
    densest = label_of(densest_of(selection, wanted), wanted, hostname) if thorough else sample
    words = [sample.text, *sample.details]
    if thorough and (wanted.title or wanted.sku):
        used = selection.codes.order_by().values("product").distinct()
        for title, sku in Product.objects.filter(pk__in=used).values_list("title", "sku")[:MOST_PRODUCTS]:
            words += [title] if wanted.title else []
            words += [sku] if wanted.sku else []
    missing = "".join(dict.fromkeys("".join(map(lettering.unknown, words))))
    return [*designs.module_warnings(wanted.design(), densest), *designs.letter_warnings(missing)]


def plain(length: Decimal | None) -> str:
    """A length without zeros at its end."""
    return "" if length is None else f"{length.normalize():f}"


def earlier(selection: Selection) -> QuerySet[PrintRun]:
    """Runs that put some of these codes on paper, newest first; of lists, whose codes may lie between."""
    overlapping = PrintRun.objects.filter(
        brand=selection.brand, first_code__lte=selection.last, last_code__gte=selection.first
    ).exclude(job__status__in=[Job.Status.FAILED, Job.Status.CANCELLED])
    if selection.batch:
        overlapping = overlapping.filter(Q(batch=selection.batch) | Q(batch__isnull=True))
    return overlapping.select_related("started_by", "job", "brand").order_by("-id")


def take_turns(brand: Brand) -> None:
    """Wait for everybody else who starts a run of the brand's; others wait until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(TURN, [brand.pk])


def payload_of(code: AuthCode, wanted: Wanted, hostname: str) -> str:
    """What the QR symbol says; the API reads each of them."""
    if wanted.payload == Payload.CODE:
        return qr.printed(code)
    if wanted.payload == Payload.GS1:
        gtin = code.product.gtin if code.product else ""
        return digital_link(hostname=hostname, gtin=gtin, serial=qr.printed(code))
    return qr.payload(code=code, hostname=hostname)


def digital_link(*, hostname: str, gtin: str, serial: str) -> str:
    """A GS1 Digital Link URI for one item: its GTIN (AI 01, always 14 digits) and serial number (AI 21)."""
    return f"{site_at(hostname)}/01/{gtin.zfill(GTIN_LENGTH)}/21/{serial}"


def logo_of(brand_id: int) -> bytes | None:
    """The brand's, as a PNG."""
    found = Brand.objects.filter(pk=brand_id).values_list("logo__content", flat=True).first()
    return bytes(found) if found else None


def design_of(selection: Selection, wanted: Wanted) -> Design:
    """How the labels of these codes are printed, with the brand's logo if it is wanted.

    Raises Invalid where a run was started with another logo than the brand has now.
    """
    logo = logo_of(selection.brand.pk) if wanted.logo else None
    if wanted.logo_sha256 and sha256_of(logo) != wanted.logo_sha256:
        raise Invalid(_("The brand's logo was changed after this was started. Look at the labels and start it again."))
    return wanted.design(logo)


def sha256_of(logo: bytes | None) -> str:
    return hashlib.sha256(logo).hexdigest() if logo else ""


def label_of(code: AuthCode, wanted: Wanted, hostname: str) -> Label:
    product, day = code.product, code.batch.expiration_date
    return Label(
        payload_of(code, wanted, hostname),
        qr.printed(code),
        title=product.title if product and wanted.title else "",
        sku=product.sku if product and wanted.sku else "",
        expiry=_("Expires %(day)s") % {"day": date_format(day, "j M Y")} if day and wanted.expiry else "",
        note=wanted.note,
        level=wanted.level_of(code.batch),
    )


def streamed(codes: AuthCodeQuerySet, *, portion: int = PORTION) -> Iterator[AuthCode]:
    """Codes in the order they were made, a portion in memory at a time, however many there are."""
    rows = codes.select_related(None).select_related("batch", "product").order_by("pk")
    last = 0
    while found := list(rows.filter(pk__gt=last)[:portion]):
        yield from found
        last = found[-1].pk


def labels(selection: Selection, wanted: Wanted, *, most: int | None = None) -> Iterator[Label]:
    """The labels of these codes; of the first `most` only."""
    hostname = hostname_of(selection.brand.pk)
    codes = streamed(selection.codes, portion=min(most or PORTION, PORTION))
    return (label_of(code, wanted, hostname) for code in islice(codes, most))


def first_page(selection: Selection, wanted: Wanted) -> list[Label]:
    return list(labels(selection, wanted, most=max(1, wanted.design().sheet.per_page - wanted.start + 1)))


def start(
    *, selection: Selection, wanted: Wanted, by: User | None, parameters: dict[str, Any] | None = None
) -> PrintRun:
    """Have a worker print, and record it. Raises Invalid.

    `parameters`: how the worker finds the codes of a list.
    """
    check(selection, wanted)
    if selection.batch and not wanted.level:
        wanted = replace(wanted, level=selection.batch.error_correction)
    if wanted.is_labels and wanted.logo:
        wanted = replace(wanted, logo_sha256=sha256_of(logo_of(selection.brand.pk)))
    kind = Job.Kind.PRINT_BATCH if selection.batch else Job.Kind.PRINT_LIST
    named = selection.batch.range_name if selection.batch else f"{selection.first} … {selection.last}"
    title = _("%(what)s: %(named)s") % {"what": What(wanted.what).label, "named": named}
    with transaction.atomic():
        job = jobs.start(
            brand=selection.brand, kind=kind, title=title, parameters=parameters or {}, by=by, total=selection.count
        )
        return PrintRun.objects.create(
            brand=selection.brand,
            batch=selection.batch,
            what=wanted.what,
            first_code=selection.first,
            last_code=selection.last,
            codes=selection.count,
            settings=wanted.stored(),
            job=job,
            started_by=by,
        )


def run_batch(run: jobs.Run) -> None:
    """The job's handler for a stretch of a batch."""
    printed = PrintRun.objects.select_related("batch__brand").filter(job=run.job).first()
    if printed is None or printed.batch is None:
        raise NotFound
    found = stretch(batch=printed.batch, first=printed.first_code, last=printed.last_code)
    print_codes(run=run, printed=printed, selection=of_stretch(found))


def print_codes(*, run: jobs.Run, printed: PrintRun, selection: Selection) -> None:
    """Write the file, and offer it once it is whole and was read back. It may be run again after a crash."""
    wanted = Wanted.read(printed.settings)
    check(selection, wanted)
    run.progress(0, selection.count)
    with jobs.workspace() as workspace:
        file = cast("BinaryIO", workspace)
        write = _write_sheets if wanted.is_labels else _write_archive
        found = write(file, selection, wanted, _telling(run, selection.count))
        found["sha256"] = digest(file)
        run.keep(file, name=f"{wanted.what}-{selection.first}-{selection.last}.{_ending(wanted)}")
    run.progress(found["codes"], found["codes"])
    ours = PrintRun.objects.filter(pk=printed.pk, job__attempts=run.attempt, job__status=Job.Status.RUNNING)
    ours.update(first_code=selection.first, last_code=selection.last, **found)
    run.log(_told(found))
    run.log(_("The file's SHA-256 is %(sha256)s.") % found)


def digest(file: BinaryIO) -> str:
    """The SHA-256 of all of a file, which is at its beginning again then."""
    file.seek(0)
    found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # any binary file will do
    file.seek(0)
    return found


def _ending(wanted: Wanted) -> str:
    return "pdf" if wanted.is_labels else "zip"


def _write_archive(file: BinaryIO, selection: Selection, wanted: Wanted, told: Callable[[int], None]) -> dict[str, Any]:
    hostname = hostname_of(selection.brand.pk)
    images = (
        archives.Image(code.code, payload_of(code, wanted, hostname), wanted.level_of(code.batch))
        for code in streamed(selection.codes)
    )
    made = archives.write(
        file,
        images,
        kind="svg" if wanted.what == What.SVG else "png",
        size_mm=wanted.image_mm,
        progress=told,
        processes=PROCESSES if selection.count > ALONE else 1,
    )
    return {"codes": made.files, "read_back": made.proved, "manifest_sha256": made.manifest_sha256}


def _write_sheets(file: BinaryIO, selection: Selection, wanted: Wanted, told: Callable[[int], None]) -> dict[str, Any]:
    design = design_of(selection, wanted)
    proof, sample = Proof(), Sample(per_page=design.sheet.per_page, start=design.start)
    pages = sheets.write(file, sample.watched(proof.of(labels(selection, wanted))), design, progress=told)
    expected = sample.whole()
    sheet_proofs.check(file, expected, pages=pages)
    return {"codes": proof.drawn, "pages": pages, "read_back": proof.read, "pages_read": len(expected)}


class Proof:
    """Reads the symbols of labels again, before they are drawn: as many as an archive's, and the last."""

    def __init__(self) -> None:
        self.drawn = self.read = 0

    def of(self, rest: Iterator[Label]) -> Iterator[Label]:
        """The same labels. Raises proofs.Unreadable."""
        label, is_read = None, True
        for label in rest:
            is_read = self.drawn < archives.ALL_PROVED or self.drawn % archives.PROVED_EVERY == 0
            self.drawn += 1
            if is_read:
                self._check(label)
            yield label
        if label and not is_read:
            self._check(label)

    def _check(self, label: Label) -> None:
        """Sheets have the same runs of modules as an SVG, whose pixels can be told without a PDF's reader."""
        proofs.check_svg(qr.svg(text=label.payload, level=label.level), label.payload, code=label.text)
        self.read += 1


def _told(found: dict[str, Any]) -> str:
    numbers = {name: f"{found[name]:,}" for name in ("codes", "pages", "read_back", "pages_read") if name in found}
    made = _("%(codes)s labels on %(pages)s pages.") if "pages" in found else _("%(codes)s images.")
    lines = [made % numbers, _("%(read_back)s codes were read again, and say what they should.") % numbers]
    if "pages_read" in found:
        lines.append(_("%(pages_read)s pages were read again from the finished file.") % numbers)
    return " ".join(lines)


def _telling(run: jobs.Run, total: int) -> Callable[[int], None]:
    """Says how far it is, not too often; hears there too whether somebody wants it stopped."""
    said = time.monotonic()

    def told(done: int) -> None:
        nonlocal said
        if time.monotonic() - said >= TELL_SECONDS:
            said = time.monotonic()
            run.progress(min(done, total), total)

    return told
