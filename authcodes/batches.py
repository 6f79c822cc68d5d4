"""Batches: the only code that makes batches and codes, switches codes off and calls batches back."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from authcodes import jobs, tags
from authcodes.models import AuthCode, BatchRange, Import, ImportRow, Job, LiftedRecall, Product, Recall
from authcodes.numbering import MAX_CODE_LENGTH, Numbering, shared
from authcodes.refusals import BatchRefused
from brands.models import Brand, User
from campaigns.models import Campaign

# No dot (it separates the tag), no slash (codes stand in addresses and file names), nothing to escape anywhere.
PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}")
# Any number will do; it keeps two overlapping batches from being created past each other.
CREATION_LOCK = 7_216_001
LOCK_CREATION = "SELECT pg_advisory_xact_lock(%s)"

GENERATE = """
    INSERT INTO authcodes_authcode
           (code, brand_id, batch_id, product_id, scan_count, first_scan_location, inventory_location, location,
            notes, created_at)
    SELECT %(prefix)s::text || lpad((%(start)s::bigint + i)::text, %(width)s::int, '0'), %(brand_id)s::bigint,
           %(batch_id)s::bigint, %(product_id)s::bigint, 0, '', '', '', '', %(at)s::timestamptz
      FROM generate_series(%(low)s::bigint, %(high)s::bigint) AS i
"""


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """The settings of spec section 2; `number_width` in digits, `scan_limit` None for unlimited."""

    range_name: str
    quantity: int
    product: Product | None = None
    prefix: str = ""
    starting_number: int = 1
    number_width: int = 10
    points_per_scan: int | None = None
    scan_limit: int | None = 1
    expiration_date: date | None = None
    campaign: Campaign | None = None
    signed: bool = False

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.prefix, self.starting_number, self.number_width, self.quantity)


def create_batch(*, brand: Brand, wanted: BatchSettings, at: datetime, by: User | None = None) -> BatchRange:
    """Store a batch whose codes are yet to be generated. Raises BatchRefused naming the field and what to change."""
    refuse_bad_settings(brand=brand, wanted=wanted, at=at)
    numbering = wanted.numbering
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK_CREATION, [CREATION_LOCK])
        refuse_overlap(numbering, brand)
        return BatchRange.objects.create(
            brand=brand,
            range_name=wanted.range_name,
            product=wanted.product,
            quantity=wanted.quantity,
            prefix=wanted.prefix,
            starting_number=wanted.starting_number,
            number_width=wanted.number_width,
            points_per_scan=wanted.points_per_scan,
            scan_limit=wanted.scan_limit,
            expiration_date=wanted.expiration_date,
            campaign=wanted.campaign,
            tag_version=tags.current_version() if wanted.signed else None,
            first_code=numbering.first_code,
            last_code=numbering.last_code,
            created_at=at,
            created_by=by,
        )


def refuse_bad_settings(*, brand: Brand, wanted: BatchSettings, at: datetime) -> None:
    """Raises BatchRefused for the first setting that cannot be."""
    for field, refused, message in _complaints(brand, wanted, at):
        if refused:
            raise BatchRefused(message, details={"field": field})


def _complaints(brand: Brand, wanted: BatchSettings, at: datetime) -> Iterable[tuple[str, bool, str]]:
    yield "range_name", not wanted.range_name.strip(), "Give the range a name."
    taken = BatchRange.objects.filter(brand=brand, range_name=wanted.range_name).exists()
    yield "range_name", taken, "This brand already has a range of this name."
    most = settings.BATCH_MAX_CODES
    yield "quantity", not 1 <= wanted.quantity <= most, f"The quantity must be between 1 and {most:,}."
    yield "prefix", not PREFIX.fullmatch(wanted.prefix), "A prefix has at most 32 letters, digits, - or _."
    yield "starting_number", not 0 <= wanted.starting_number < 10**18, "The number must be between 0 and 10^18."
    yield "number_width", not 1 <= wanted.number_width <= 18, "A number has 1 to 18 digits."
    yield (
        "number_width",
        wanted.numbering.overflows,
        f"The last number, {wanted.numbering.end}, does not fit {wanted.number_width} digits. Allow more digits.",
    )
    too_long = len(wanted.prefix) + wanted.number_width > MAX_CODE_LENGTH
    yield "prefix", too_long, f"A code has at most {MAX_CODE_LENGTH} characters."
    yield "scan_limit", wanted.scan_limit is not None and wanted.scan_limit < 1, "Write 1 or more, or leave it empty."
    today = at.astimezone(brand.zone).date()
    past = wanted.expiration_date is not None and wanted.expiration_date < today
    yield "expiration_date", past, "The expiration date is in the past."
    foreign_product = wanted.product is not None and wanted.product.brand_id != brand.pk
    yield "product", foreign_product, "This brand has no such product."
    foreign_campaign = wanted.campaign is not None and wanted.campaign.brand_id != brand.pk
    yield "campaign", foreign_campaign, "This brand has no such campaign."
    unsignable = wanted.signed and tags.current_version() is None
    yield "signed", unsignable, "No secret for signed codes is configured: set CODE_TAG_SECRETS."


def refuse_overlap(numbering: Numbering, brand: Brand) -> None:
    """Codes are unique in the whole installation. Another brand's range is not named."""
    near = BatchRange.objects.filter(first_code__lte=numbering.last_code, last_code__gte=numbering.first_code)
    for batch in near.iterator():
        other = Numbering(batch.prefix, batch.starting_number, batch.number_width, batch.quantity)
        both = shared(numbering, other)
        if both:
            whose = f"the range {batch.range_name}" if batch.brand_id == brand.pk else "a range that is already taken"
            message = f"The codes {both[0]} to {both[1]} overlap with {whose}. Change prefix or starting number."
            raise BatchRefused(message, details={"field": "starting_number"})


def generate(*, batch_id: int, at: datetime, progress: Callable[[int, int], None] | None = None) -> int:
    """Make the batch's missing codes in the database, in chunks of settings.GENERATION_CHUNK, each a commit.

    A run that dies is taken up where it stopped; two at once take turns. `progress` is told (done, of how many)
    after each chunk. Returns how many codes this run made.
    """
    made = 0
    while chunk := _generate_chunk(batch_id, at):
        made += chunk.size
        if progress:
            progress(chunk.done, chunk.quantity)
    return made


def start_generation(*, batch: BatchRange, by: User | None) -> Job:
    """Have a worker make the batch's codes, in the caller's transaction."""
    title = f"Generate {batch.quantity} codes of {batch.range_name}"
    parameters = {"batch_id": batch.pk}
    return jobs.start(
        brand=batch.brand, kind=Job.Kind.GENERATE, title=title, parameters=parameters, by=by, total=batch.quantity
    )


def run_generation(run: jobs.Run) -> None:
    """The job's handler. A cancelled batch keeps the codes it has; another run makes the rest."""
    made = generate(batch_id=run.parameters["batch_id"], at=timezone.now(), progress=run.progress)
    run.log(f"{made} codes made.")


@dataclass(frozen=True, slots=True)
class Chunk:
    size: int
    done: int
    quantity: int


def _generate_chunk(batch_id: int, at: datetime) -> Chunk | None:
    with transaction.atomic(), connection.cursor() as cursor:
        batch = BatchRange.objects.select_for_update().get(pk=batch_id)
        size = min(settings.GENERATION_CHUNK, batch.quantity - batch.generated_count)
        if not size:
            return None
        done = batch.generated_count + size
        parameters: dict[str, str | int | datetime | None] = {
            "prefix": batch.prefix,
            "start": batch.starting_number,
            "width": batch.number_width,
            "brand_id": batch.brand_id,
            "batch_id": batch.pk,
            "product_id": batch.product_id,
            "low": batch.generated_count,
            "high": done - 1,
            "at": at,
        }
        cursor.execute(GENERATE, parameters)
        BatchRange.objects.filter(pk=batch_id).update(generated_count=done)
        return Chunk(size, done, batch.quantity)


def deactivate(*, codes: Iterable[AuthCode], at: datetime) -> int:
    """Switch codes off: they scan as not valid. Returns how many were on."""
    ids = [code.pk for code in codes]
    return AuthCode.objects.filter(pk__in=ids, deactivated_at__isnull=True).update(deactivated_at=at)


def reactivate(*, codes: Iterable[AuthCode]) -> int:
    """Switch codes on again. Returns how many were off."""
    ids = [code.pk for code in codes]
    return AuthCode.objects.filter(pk__in=ids, deactivated_at__isnull=False).update(deactivated_at=None)


def recall_batch(
    *, batch: BatchRange, recall_id: str, contact: str, message: str, reason: str, at: datetime, by: User | None = None
) -> Recall:
    """Call a batch back, once: from the commit on every scan of it says so and earns nothing.

    Raises BatchRefused when it is recalled already.
    """
    told = {"recall_id": recall_id, "contact": contact, "message": message, "reason": reason}
    recall, new = Recall.objects.get_or_create(batch=batch, defaults={**told, "recalled_by": by, "recalled_at": at})
    if not new:
        raise BatchRefused(f"This batch is already recalled ({recall.recall_id}).", details={"field": "batch"})
    return recall


def lift_recall(*, recall: Recall, reason: str, at: datetime, by: User) -> LiftedRecall:
    """Take a recall back: its codes scan as before from the commit on, and what was said is kept.

    Raises BatchRefused without a reason, or when somebody else has lifted it.
    """
    if not reason.strip():
        message = "Say why the recall is lifted."
        raise BatchRefused(message, details={"field": "reason"})
    with transaction.atomic():
        held = Recall.objects.select_for_update().filter(pk=recall.pk).first()
        if held is None:
            message = "This recall is lifted already."
            raise BatchRefused(message)
        kept = LiftedRecall.objects.create(
            batch_id=held.batch_id,
            recall_id=held.recall_id,
            contact=held.contact,
            message=held.message,
            reason=held.reason,
            recalled_by_id=held.recalled_by_id,
            recalled_at=held.recalled_at,
            lifted_by=by,
            lifted_at=at,
            lift_reason=reason,
        )
        held.delete()
    return kept


# The codes that the good rows of an import name: `id`, and what its row wants of them. OFFSET 0 keeps the planner
# from joining ranges in any other way than one index search each.
IMPORTED = {
    Import.Kind.LIST.value: """
        SELECT c.id, %(product)s::bigint AS product_id, r.location, r.notes, r.points_per_scan
          FROM authcodes_importrow r JOIN authcodes_authcode c ON c.code = r.code AND c.brand_id = %(brand)s
         WHERE r.upload_id = %(upload)s AND r.error = ''
    """,
    Import.Kind.RANGES.value: """
        SELECT c.id, r.product_id, r.location, r.notes, r.points_per_scan
          FROM authcodes_importrow r
          JOIN authcodes_authcode a ON a.code = r.code AND a.brand_id = %(brand)s
         CROSS JOIN LATERAL (SELECT id FROM authcodes_authcode
                              WHERE code BETWEEN r.code AND r.code_end AND batch_id = a.batch_id OFFSET 0) c
         WHERE r.upload_id = %(upload)s AND r.error = ''
    """,
}
# An empty cell leaves what is there. A code of another product matches nothing: the caller counts.
ASSIGN_LIST = """
    UPDATE authcodes_authcode c
       SET product_id = %(product)s, inventory_location = coalesce(nullif(r.location, ''), c.inventory_location),
           notes = coalesce(nullif(r.notes, ''), c.notes)
      FROM authcodes_importrow r
     WHERE r.upload_id = %(upload)s AND r.error = '' AND c.code = r.code AND c.brand_id = %(brand)s
       AND (c.product_id IS NULL OR c.product_id = %(product)s)
"""
ASSIGN_RANGE = """
    UPDATE authcodes_authcode
       SET product_id = %(product)s, location = coalesce(nullif(%(location)s, ''), location),
           points_per_scan = coalesce(%(points)s::int, points_per_scan)
     WHERE code BETWEEN %(first)s AND %(last)s AND brand_id = %(brand)s
       AND batch_id = (SELECT batch_id FROM authcodes_authcode WHERE code = %(first)s)
       AND (product_id IS NULL OR product_id = %(product)s)
"""
# Only codes that still hold what the import gave them, and only what it gave.
UNASSIGN = """
    UPDATE authcodes_authcode c
       SET product_id = o.product_id,
           {place} = CASE WHEN t.location = '' THEN c.{place} ELSE coalesce(o.{place}, '') END,
           notes = CASE WHEN t.notes = '' THEN c.notes ELSE coalesce(o.notes, '') END,
           points_per_scan = CASE WHEN t.points_per_scan IS NULL THEN c.points_per_scan ELSE o.points_per_scan END
      FROM ({targets}) t
      LEFT JOIN authcodes_importchange o ON o.upload_id = %(upload)s AND o.auth_code_id = t.id
     WHERE c.id = t.id AND c.product_id = t.product_id AND c.scan_count = 0 AND t.location IN ('', c.{place})
       AND t.notes IN ('', c.notes) AND (t.points_per_scan IS NULL OR t.points_per_scan = c.points_per_scan)
"""
SCANNED = "SELECT EXISTS (SELECT 1 FROM ({targets}) t JOIN authcodes_authcode c USING (id) WHERE c.scan_count > 0)"
PLACES = {Import.Kind.LIST.value: "inventory_location", Import.Kind.RANGES.value: "location"}


def import_facts(upload: Import) -> dict[str, Any]:
    """The parameters that the statements of IMPORTED take."""
    return {"upload": upload.pk, "brand": upload.brand_id, "product": upload.product_id}


def assign_imported(*, upload: Import) -> int:
    """Give the codes of an import's good rows their product, place, notes and points.

    Returns how many codes; fewer than the rows name means that some have another product. The caller owns the
    transaction, and rolls it back then.
    """
    with connection.cursor() as cursor:
        if upload.kind == Import.Kind.LIST:
            cursor.execute(ASSIGN_LIST, import_facts(upload))
            return int(cursor.rowcount)
        assigned = 0
        ranges = ImportRow.objects.filter(upload=upload, error="").order_by("code")
        for row in ranges.iterator():
            facts = {"product": row.product_id, "location": row.location, "points": row.points_per_scan}
            cursor.execute(ASSIGN_RANGE, {**import_facts(upload), **facts, "first": row.code, "last": row.code_end})
            assigned += cursor.rowcount
        return assigned


def scanned_imported(*, upload: Import) -> bool:
    """Whether any code of the import's good rows was ever scanned."""
    with connection.cursor() as cursor:
        cursor.execute(SCANNED.format(targets=IMPORTED[upload.kind]), import_facts(upload))
        found: bool = cursor.fetchone()[0]
        return found


def unassign_imported(*, upload: Import) -> int:
    """Give the codes of an import back what they held before. Returns how many; changed and scanned ones stay.

    The caller owns the transaction, and rolls it back when some stay.
    """
    statement = UNASSIGN.format(targets=IMPORTED[upload.kind], place=PLACES[upload.kind])
    with connection.cursor() as cursor:
        cursor.execute(statement, import_facts(upload))
        return int(cursor.rowcount)
