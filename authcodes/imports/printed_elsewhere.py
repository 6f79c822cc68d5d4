"""Codes that another company printed: checking a file of them, creating their batch, and removing them again."""

from datetime import date, datetime
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Count, Max, Min
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes.codes import history, prefixes, printed_batches
from authcodes.codes.batches import BatchSettings
from authcodes.codes.history import CodeChangeContext
from authcodes.errors import ImportRejected
from authcodes.imports.checks import NOT_USABLE
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from brands.audit_log import AuditContext
from brands.models.people import User
from campaigns.models.campaigns import Campaign
from core.db import advisory_locks
from core.db.advisory_locks import Lock
from core.db.statements import command, query_values
from core.errors import DomainError, RateLimited

Kind = CodeChange.Kind

# A file with more such codes does not get them named one by one: it would reveal too much about other brands.
MAX_NOT_USABLE = 20
CHECK_CONSTRAINTS_NOW = "SET CONSTRAINTS ALL IMMEDIATE"

INSERT_PRINTED_CODES = command("authcodes/imports/sql/insert_printed_codes.sql")
DELETE_PRINTED_CODES = command("authcodes/imports/sql/delete_printed_codes.sql")
FETCH_WHETHER_RESERVED = query_values("authcodes/imports/sql/fetch_whether_reserved.sql", "is_reserved")
FETCH_WHETHER_SEQUENTIAL = query_values("authcodes/imports/sql/fetch_whether_sequential.sql", "is_sequential")


class CodesNotUsable(ImportRejected):
    """A file that would reveal too much about other brands."""


def settings_as_stored(batch_settings: BatchSettings) -> dict[str, Any]:
    day, campaign = batch_settings.expiration_date, batch_settings.campaign
    return {
        "range_name": batch_settings.range_name,
        "points_per_scan": batch_settings.points_per_scan,
        "scan_limit": batch_settings.scan_limit,
        "expiration_date": day.isoformat() if day else None,
        "campaign": campaign.pk if campaign else None,
        "after_campaign": batch_settings.after_campaign,
    }


def settings_of(upload: Import) -> BatchSettings:
    """The batch settings of an upload."""
    requested = dict(upload.batch_settings)
    day, campaign = requested.pop("expiration_date", None), requested.pop("campaign", None)
    return BatchSettings(
        **{"range_name": "", **requested},
        quantity=max(1, upload.codes),
        product=upload.product,
        expiration_date=date.fromisoformat(day) if day else None,
        campaign=Campaign.objects.filter(pk=campaign, brand=upload.brand_id).first() if campaign else None,
        signed=False,
    )


def check_not_usable(upload: Import) -> None:
    """Count a file with codes that cannot be used as one attempt at other brands' codes. Call inside a transaction.

    Raises CodesNotUsable for more codes than are named one by one, and for too many such files.
    """
    rows = ImportRow.objects.filter(upload=upload, error=NOT_USABLE)[: MAX_NOT_USABLE + 1].count()
    if not rows:
        return
    try:
        prefixes.count_try(brand=upload.brand, user=upload.uploaded_by)
    except RateLimited as limited:
        raise CodesNotUsable(_("Too many files with codes that cannot be used. Try again later.")) from limited
    if rows > MAX_NOT_USABLE:
        message = _(
            "More than %(most)d of these codes or payloads cannot be used. Check the file. If these labels are "
            "yours, ask the operator of this service."
        )
        raise CodesNotUsable(message % {"most": MAX_NOT_USABLE})
    note_not_usable(upload)


def note_not_usable(upload: Import) -> None:
    """Write into the audit log that a file named codes that are already in use."""
    prefixes.note_rejected(
        brand=upload.brand, audit_context=AuditContext(upload.uploaded_by, timezone.now()), value=upload.file_name
    )


def is_sequential(upload: Import) -> bool:
    """Whether most of an upload's codes follow another one, so that anyone with one can guess the next."""
    return bool(FETCH_WHETHER_SEQUENTIAL.first(upload=upload.pk))


def import_codes(*, upload: Import, by: User | None) -> int:
    """Create the batch of an upload and its codes; returns how many. The caller owns the transaction.

    Raises ImportRejected if another user was faster, or if a setting is no longer valid.
    """
    at = timezone.now()
    good = ImportRow.objects.filter(upload=upload, error="")
    totals = good.aggregate(codes=Count("pk"), first=Min("code"), last=Max("code"))
    try:
        batch = printed_batches.create(
            brand=upload.brand,
            batch_settings=settings_of(upload),
            first_code=totals["first"],
            last_code=totals["last"],
            at=at,
            by=by,
        )
    except DomainError as domain_error:
        raise ImportRejected(_("Nothing was imported: %(why)s") % {"why": domain_error.message}) from domain_error
    try:
        with transaction.atomic():
            made = INSERT_PRINTED_CODES.run(
                upload=upload.pk, brand=upload.brand_id, batch=batch.pk, product=upload.product_id, at=at
            )
    except (IntegrityError, OperationalError) as error:  # another brand took some of the codes, or all, first
        raise ImportRejected(conflict_text()) from error
    with connection.cursor() as cursor:
        cursor.execute(CHECK_CONSTRAINTS_NOW)  # may check a million codes, so before the lock that others wait for
    # Anyone who stores a batch or prefix takes this lock in shared mode: see the database functions on taken codes.
    advisory_locks.lock(Lock.TAKEN_CODES)
    if FETCH_WHETHER_RESERVED.first(upload=upload.pk, brand=upload.brand_id):
        raise ImportRejected(conflict_text())
    Import.objects.filter(pk=upload.pk).update(batch=batch)
    change_context = CodeChangeContext(Kind.PRINTED_ELSEWHERE, at, by, product=batch.product)
    history.note_batch(change_context, batch=batch, upload=upload)
    return made


def conflict_text() -> str:
    return _("Nothing was imported: some of these codes can no longer be used. The preview shows them.")


def delete_imported(*, upload: Import, by: User | None, at: datetime) -> int:
    """Delete the codes of an upload and leave their batch empty. The caller owns the transaction.

    Raises ImportRejected if a code was scanned, looked up, reported or changed, or if the batch is recalled.
    """
    batch = BatchRange.objects.select_for_update(of=("self",)).select_related("brand").get(printed_import=upload)
    if batch.recall_id:
        raise ImportRejected(_("Nothing was undone: the batch has been recalled."))
    if AuthCode.objects.filter(batch=batch).scanned().exists():
        raise ImportRejected(_("Nothing was undone: some of the codes have been scanned."))
    if CodeChange.objects.filter(batch=batch, kind__in=history.STATE_KINDS).exists():
        raise ImportRejected(_("Nothing was undone: some of the codes have been changed since then."))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            deleted = DELETE_PRINTED_CODES.run(batch=batch.pk)
            cursor.execute(CHECK_CONSTRAINTS_NOW)
    except IntegrityError as error:
        message = _("Nothing was undone: some of the codes have been scanned, looked up or reported as fakes.")
        raise ImportRejected(message) from error
    if deleted != batch.quantity:
        raise ImportRejected(_("Nothing was undone: some of the codes have been scanned."))
    change_context = CodeChangeContext(Kind.IMPORT_UNDONE, at, by, product=batch.product)
    history.note_batch(change_context, batch=batch, upload=upload)
    printed_batches.empty(batch=batch, import_id=upload.pk)
    return deleted
