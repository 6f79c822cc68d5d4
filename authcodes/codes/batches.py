"""Batches: the only code that creates batches and their codes, and changes a batch's settings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, Max, OuterRef
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Length
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authcodes.codes import history, prefixes, scan_value, signed_tags
from authcodes.codes.history import CodeChangeContext
from authcodes.codes.numbering import Numbering, numbering_of, shared
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.scanned import MAX_CODE_LENGTH
from brands.tenants import quotas
from campaigns.models.campaigns import Campaign
from core import languages
from core.db.statements import command
from core.numbers import grouped
from jobs import queue, runner
from jobs.kinds import JobKind
from jobs.models import Job, JobQuerySet

Kind = CodeChange.Kind
MAX_CODES = 10_000_000  # in one batch
MADE_AT_ONCE = 1000  # codes generated within the request; a worker generates larger batches

INSERT_CODES = command("authcodes/codes/sql/insert_codes.sql")


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """The settings of spec section 2. `number_width` is in digits; a `scan_limit` of None means unlimited.

    `signed` has no default: the caller must decide whether codes can be guessed.
    """

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
    signed: bool = field(kw_only=True)
    error_correction: str = BatchRange.ErrorCorrection.M.value
    after_campaign: str = BatchRange.AfterCampaign.POINTS.value

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.prefix, self.starting_number, self.number_width, self.quantity)

    @property
    def own_points(self) -> int:
        """The points of a scan by the batch, else by its product; 0 if these leave it to the customer's level."""
        if self.points_per_scan is not None:
            return self.points_per_scan
        return (self.product and self.product.redeem_point_value) or 0

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of every batch, whether or not its codes were printed elsewhere."""
        names = ("range_name", "quantity", "product", "points_per_scan", "scan_limit", "expiration_date", "campaign")
        return {name: getattr(self, name) for name in (*names, "after_campaign")}


def create_batch(*, brand: Brand, batch_settings: BatchSettings, at: datetime, by: User | None = None) -> BatchRange:
    """Store a batch whose codes are generated later.

    Raises BatchRejected with the field and what to change, and QuotaReached above the brand's quota of codes.
    """
    numbering = batch_settings.numbering
    with transaction.atomic():
        prefixes.lock_prefixes(brand)
        check(brand=brand, batch_settings=batch_settings, at=at, by=by)
        prefixes.reserve(brand=brand, prefix=batch_settings.prefix, at=at, by=by)
        check_overlap(numbering, brand)
        quotas.require(brand.pk, BrandQuota.Resource.CODES, more=batch_settings.quantity, field="quantity")
        with prefixes.reject_taken():
            return BatchRange.objects.create(
                brand=brand,
                **batch_settings.columns,
                prefix=batch_settings.prefix,
                starting_number=batch_settings.starting_number,
                number_width=batch_settings.number_width,
                tag_version=signed_tags.current_version() if batch_settings.signed else None,
                error_correction=batch_settings.error_correction,
                first_code=numbering.first_code,
                last_code=numbering.last_code,
                created_at=at,
                created_by=by,
            )


def check(*, brand: Brand, batch_settings: BatchSettings, at: datetime, by: User | None) -> None:
    """Raises BatchRejected for the first invalid setting, and if `by` may not set its points or its product."""
    for name, message in settings_errors(brand=brand, batch_settings=batch_settings, at=at).items():
        raise BatchRejected(message, details={"field": name})
    scan_value.check_points(brand=brand, points=batch_settings.points_per_scan, by=by)
    if batch_settings.product:
        scan_value.check_product(product=batch_settings.product, by=by)


def settings_errors(*, brand: Brand, batch_settings: BatchSettings, at: datetime) -> dict[str, str]:
    """An error message for each invalid setting, by field. Overlaps are not checked."""
    result: dict[str, str] = {}
    for name, rejected, message in _complaints(brand, batch_settings, at):
        if rejected:
            result.setdefault(name, message)
    return result


def _complaints(brand: Brand, batch_settings: BatchSettings, at: datetime) -> Iterable[tuple[str, bool, str]]:
    yield "range_name", not batch_settings.range_name.strip(), _("Enter a name for the range.")
    taken = BatchRange.objects.filter(brand=brand, range_name=batch_settings.range_name).exists()
    yield "range_name", taken, _("This brand already has a range with this name. Choose a different name.")
    possible = 1 <= batch_settings.quantity <= MAX_CODES
    yield "quantity", not possible, _("The quantity must be between 1 and %(most)s.") % {"most": grouped(MAX_CODES)}
    yield "prefix", not prefixes.PREFIX.fullmatch(batch_settings.prefix), str(prefixes.INVALID_PREFIX)
    impossible = not 0 <= batch_settings.starting_number < 10**18
    yield "starting_number", impossible, _("The number must be between 0 and 10^18.")
    yield "number_width", not 1 <= batch_settings.number_width <= 18, _("A number has 1 to 18 digits.")
    yield "number_width", possible and batch_settings.numbering.overflows, _overflow(batch_settings)
    too_long = len(batch_settings.prefix) + batch_settings.number_width > MAX_CODE_LENGTH
    yield "prefix", too_long, _("A code has at most %(most)d characters.") % {"most": MAX_CODE_LENGTH}
    limit_too_low = batch_settings.scan_limit is not None and batch_settings.scan_limit < 1
    yield "scan_limit", limit_too_low, _("Enter 1 or more, or leave the field empty.")
    today = brand.day_at(at)
    past = batch_settings.expiration_date is not None and batch_settings.expiration_date < today
    yield "expiration_date", past, _("The expiration date is in the past. Enter today or later.")
    foreign_product = batch_settings.product is not None and batch_settings.product.brand_id != brand.pk
    yield "product", foreign_product, _("This brand has no such product.")
    unsold = batch_settings.product is not None and not batch_settings.product.is_active
    yield "product", unsold, _("This product is no longer sold.")
    foreign_campaign = batch_settings.campaign is not None and batch_settings.campaign.brand_id != brand.pk
    yield "campaign", foreign_campaign, _("This brand has no such campaign.")
    unknown = batch_settings.error_correction not in BatchRange.ErrorCorrection
    yield "error_correction", unknown, _("Choose L, M, Q or H.")
    unknown = batch_settings.after_campaign not in BatchRange.AfterCampaign
    yield "after_campaign", unknown, _("Choose what scans earn after the campaign.")
    unsignable = batch_settings.signed and signed_tags.current_version() is None
    yield "signed", unsignable, _("No secret for signed codes is configured: set CODE_TAG_SECRETS.")
    plain = brand.protected_batches_only and not batch_settings.signed
    yield "signed", plain, _("This brand only allows protected batches.")


def _overflow(batch_settings: BatchSettings) -> str:
    return _("The last number, %(last)d, has more than %(width)d digits. Allow more digits.") % {
        "last": batch_settings.numbering.end,
        "width": batch_settings.number_width,
    }


def check_overlap(numbering: Numbering, brand: Brand) -> None:
    """Check the brand's own ranges; the database rejects codes of other brands. Raises BatchRejected."""
    for message in overlaps(numbering, brand):
        raise BatchRejected(message, details={"field": "starting_number"})


def overlaps(numbering: Numbering, brand: Brand) -> Iterator[str]:
    """A message for the first of these codes that was printed elsewhere, and for each range that contains some."""
    printed = AuthCode.objects.filter(brand=brand, payload__isnull=False).annotate(
        code_length=Length("code"), payload_length=Length("payload")
    )
    ends, length = (numbering.first_code, numbering.last_code), len(numbering.first_code)
    for name in ("code", "payload"):
        taken = printed.filter(**{f"{name}__range": ends, f"{name}_length": length})
        if text := taken.order_by(name).values_list(name, flat=True).first():
            what = _("The code %(code)s was printed elsewhere and is in use.") % {"code": text}
            yield f"{what} {_('Change the prefix or the starting number.')}"
            break
    near = BatchRange.objects.filter(
        brand=brand, printed_elsewhere=False, first_code__lte=numbering.last_code, last_code__gte=numbering.first_code
    )
    for batch in near.order_by("first_code").iterator():
        both = shared(numbering, numbering_of(batch))
        if both:
            values = {"first": both[0], "last": both[1], "range": batch.range_name}
            what = _("The codes %(first)s to %(last)s overlap with the range %(range)s.") % values
            yield f"{what} {_('Change the prefix or the starting number.')}"


def generate(*, batch_id: int, at: datetime, progress: Callable[[int, int], None] | None = None) -> int:
    """Generate the batch's missing codes in chunks of settings.GENERATION_CHUNK, with a commit after each.

    A new run continues where a failed one stopped; concurrent runs take turns. Calls `progress(done, total)` after each
    chunk. Returns how many codes this run made.
    """
    made = 0
    while chunk := _generate_chunk(batch_id, at):
        made += chunk.size
        if progress:
            progress(chunk.done, chunk.quantity)
    return made


def start_generation(*, batch: BatchRange, by: User | None) -> Job:
    """Have a worker generate the batch's codes, in the caller's transaction."""
    with languages.in_english():
        title = ngettext(
            "Generate %(number)d code of %(range)s", "Generate %(number)d codes of %(range)s", batch.quantity
        )
        title %= {"number": batch.quantity, "range": batch.range_name}
    parameters = {"batch_id": batch.pk}
    return queue.start(
        brand=batch.brand, kind=GENERATION.name, title=title, parameters=parameters, by=by, total=batch.quantity
    )


def finish_generation(*, batch: BatchRange, by: User | None) -> Job:
    """Have a worker generate the codes that a cancelled or failed job left out. Raises BatchRejected."""
    with transaction.atomic():
        locked = BatchRange.objects.select_for_update(of=("self",)).select_related("brand").get(pk=batch.pk)
        if locked.is_generated:
            raise BatchRejected(_("All codes of this batch have already been generated."))
        if generations_of(locked.pk).unfinished().exists():
            raise BatchRejected(_("The codes of this batch are already being generated."))
        return start_generation(batch=locked, by=by)


def generations_of(batch_id: int | OuterRef) -> JobQuerySet:
    """The jobs that generate a batch's codes, newest first."""
    of_batch = Cast(KeyTextTransform("batch_id", "parameters"), BigIntegerField())
    return Job.objects.filter(kind=GENERATION.name).alias(of_batch=of_batch).filter(of_batch=batch_id)


def run_generation(run: runner.Run) -> None:
    """Job handler. A cancelled batch keeps its codes; another run generates the rest."""

    def report(done: int, quantity: int) -> None:
        (run.progress if done < quantity else run.note_progress)(done, quantity)

    made = generate(batch_id=run.parameters["batch_id"], at=timezone.now(), progress=report)
    run.log(ngettext("%(number)d code generated.", "%(number)d codes generated.", made) % {"number": made})


def batches_of(jobs: Sequence[Job]) -> dict[int, BatchRange]:
    """The batch of each job, by job id."""
    named = {job.pk: job.parameters["batch_id"] for job in jobs if "batch_id" in job.parameters}
    batches = BatchRange.objects.in_bulk(set(named.values()))
    return {pk: batches[batch_id] for pk, batch_id in named.items() if batch_id in batches}


GENERATION = JobKind(
    name="generate",
    label=gettext_lazy("Generate codes"),
    run=run_generation,
    on_cancel=gettext_lazy(
        "Codes generated so far stay valid. You can generate the missing ones later on the batch's page."
    ),
    related_rows=batches_of,
)


@dataclass(frozen=True, slots=True)
class Chunk:
    size: int
    done: int
    quantity: int


def _generate_chunk(batch_id: int, at: datetime) -> Chunk | None:
    with transaction.atomic():
        batch = BatchRange.objects.select_for_update().get(pk=batch_id)
        size = min(settings.GENERATION_CHUNK, batch.quantity - batch.generated_count)
        if not size:
            return None
        done = batch.generated_count + size
        INSERT_CODES.run(
            prefix=batch.prefix,
            start=batch.starting_number,
            width=batch.number_width,
            brand_id=batch.brand_id,
            batch_id=batch.pk,
            product_id=batch.product_id,
            low=batch.generated_count,
            high=done - 1,
            at=at,
        )
        BatchRange.objects.filter(pk=batch_id).update(generated_count=done)
        if done == batch.quantity:
            change_context = CodeChangeContext(Kind.GENERATED, at, batch.created_by, product=batch.product)
            history.note_batch(change_context, batch=batch)
        return Chunk(size, done, batch.quantity)


def max_scan_count(*, batch: BatchRange) -> int:
    """The highest scan count of a code in the batch. Reads all its codes."""
    most: int | None = AuthCode.objects.filter(batch=batch).aggregate(most=Max("scan_count"))["most"]
    return most or 0


def max_total_points(*, batch: BatchRange, values: Mapping[str, Any]) -> int | None:
    """The most points that the codes can pay, with `values` replacing the batch's own; None without a scan limit."""
    points = values.get("points_per_scan", batch.points_per_scan) or 0
    limit = values.get("scan_limit", batch.scan_limit)
    return None if limit is None else batch.quantity * points * limit


def set_approved(
    *, row: BatchRange, values: Mapping[str, Any], max_total: Decimal | None, by: User, at: datetime
) -> None:
    """Called through settings.APPROVED_POINTS. Raises BatchRejected if the batch's total has changed since."""
    now = max_total_points(batch=row, values=values)
    if now != max_total:
        message = _("The batch and its total points have changed since this was requested. Request it again.")
        raise BatchRejected(message)
    change_batch(batch=row, changed=values, by=by, at=at)


def change_batch(*, batch: BatchRange, changed: Mapping[str, Any], by: User, at: datetime, reason: str = "") -> None:
    """Change some of a batch's settings, and record old values and reason. Workers' counters are not changed."""
    with transaction.atomic():
        before = BatchRange.objects.select_for_update(of=("self",)).select_related("campaign").get(pk=batch.pk)
        detail = history.differences(before, changed)
        if detail:
            BatchRange.objects.filter(pk=batch.pk).update(**changed)
            history.note_batch(CodeChangeContext(Kind.EDITED, at, by, reason=reason, detail=detail), batch=before)


def set_recall(*, batch: BatchRange, recall: Recall, first: str, last: str, at: datetime) -> None:
    """Link the batch, or its codes from `first` to `last`, to a recall, in the recall's transaction."""
    changed = {"recall": recall, "recalled_at": at, "recalled_from": first, "recalled_to": last}
    BatchRange.objects.filter(pk=batch.pk).update(**changed)
    for name, value in changed.items():
        setattr(batch, name, value)


def clear_recall(recall: Recall) -> None:
    """Unlink the batches of a withdrawn recall, in its transaction."""
    cleared = {"recall": None, "recalled_at": None, "recalled_from": "", "recalled_to": ""}
    BatchRange.objects.filter(recall=recall).update(**cleared)
