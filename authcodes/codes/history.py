"""The history of codes: the only code that writes CodeChange, in the transaction of what it tells of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Sum
from django.utils.translation import gettext as _

from authcodes.codes.numbering import Numbering
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.products import Product
from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity.person_mentions import Mentions, without
from brands.models.people import User

# Of a file that names codes here and there, a batch's line says from where to where, and how many.
MAX_RUNS = 1000
Kind = CodeChange.Kind
AUDITED_KINDS = frozenset({Kind.ASSIGNED, Kind.UNASSIGNED, Kind.DEACTIVATED, Kind.REACTIVATED})

# Rows whose codes follow each other and have one product are a run.
NOTE_IMPORT = """
    WITH named AS (
        SELECT a.batch_id, r.code AS first, greatest(r.code, r.code_end) AS last, r.codes,
               coalesce(r.product_id, %(product)s) AS product_id, right(r.code, b.number_width)::bigint AS low
          FROM authcodes_importrow r
          JOIN authcodes_authcode a ON a.code = r.code
          JOIN authcodes_batchrange b ON b.id = a.batch_id
         WHERE r.upload_id = %(upload)s AND r.error = ''),
    neighbours AS (
        SELECT *, lag(low + codes) OVER its AS after, lag(product_id) OVER its AS product_before
          FROM named WINDOW its AS (PARTITION BY batch_id ORDER BY first)),
    numbered AS (
        SELECT *, count(*) FILTER (WHERE (after, product_before) IS DISTINCT FROM (low, product_id))
                    OVER (PARTITION BY batch_id ORDER BY first) AS run
          FROM neighbours),
    runs AS (SELECT *, max(run) OVER (PARTITION BY batch_id) AS runs FROM numbered)
    INSERT INTO authcodes_codechange
           (brand_id, batch_id, action_id, kind, first_code, last_code, codes, product_id, upload_id, detail, reason,
            changed_by_id, changed_at)
    SELECT %(brand)s, batch_id, %(action)s, %(kind)s, min(first), max(last), sum(codes),
           CASE WHEN min(product_id) = max(product_id) THEN min(product_id) END, %(upload)s, '', '', %(by)s, %(at)s
      FROM runs
     GROUP BY batch_id, CASE WHEN runs <= %(most)s THEN run END
     ORDER BY batch_id, min(first)
"""


@dataclass(frozen=True, slots=True)
class CodeChangeContext:
    """What somebody does to codes with one click."""

    kind: CodeChange.Kind
    at: datetime
    by: User | None = None
    reason: str = ""
    detail: str = ""
    product: Product | None = None
    action_id: UUID = field(default_factory=uuid4)


def numbering_of(batch: BatchRange) -> Numbering:
    return Numbering(batch.prefix, batch.starting_number, batch.number_width, batch.quantity)


def in_words(row: BatchRange | AuthCode, changed: Mapping[str, Any]) -> str:
    """`field: before -> after` of what really changes, in words."""
    lines = []
    for name, after in changed.items():
        before = getattr(row, name)
        if before != after:
            field = row._meta.get_field(name)  # noqa: SLF001 - Django's public API of models
            told = [str(_("empty") if value in {None, ""} else value) for value in (before, after)]
            lines.append(f"{getattr(field, 'verbose_name', name)}: {told[0]} \u2192 {told[1]}")
    return "\n".join(lines)


def note_run(deed: CodeChangeContext, *, batch: BatchRange, first: str, last: str, codes: int) -> None:
    """Note that `codes` of the codes from `first` to `last` changed."""
    told = _told(deed, batch, first, last, codes)
    told.save(force_insert=True)
    _tell_trail(deed, [told])


def note_batch(deed: CodeChangeContext, *, batch: BatchRange) -> None:
    """Note something that was done to a batch as a whole."""
    note_run(deed, batch=batch, first=batch.first_code, last=batch.last_code, codes=batch.quantity)


def note_codes(deed: CodeChangeContext, *, codes: Iterable[AuthCode]) -> None:
    """Note that just these changed: a line for each run without a gap. Each has its batch at hand."""
    ordered = sorted(codes, key=lambda code: (code.batch_id, code.code))
    runs = [
        _told(deed, batch, run.first_code, run.last_code, run.quantity)
        for batch, its in groupby(ordered, key=lambda code: code.batch)
        for run in numbering_of(batch).runs(code.code for code in its)
    ]
    CodeChange.objects.bulk_create(runs)
    _tell_trail(deed, runs)


def note_import(deed: CodeChangeContext, *, upload: Import) -> None:
    """Note what an import did, or that it is undone: a line for each run of codes that its good rows name."""
    facts: dict[str, Any] = {
        "brand": upload.brand_id,
        "action": deed.action_id,
        "kind": deed.kind.value,
        "product": upload.product_id,
        "upload": upload.pk,
        "by": deed.by.pk if deed.by else None,
        "at": deed.at,
        "most": MAX_RUNS,
    }
    with connection.cursor() as cursor:
        cursor.execute(NOTE_IMPORT, facts)


def _tell_trail(deed: CodeChangeContext, runs: Iterable[CodeChange]) -> None:
    """Write into the audit log what no form there tells of, as done to the batches."""
    if deed.kind in AUDITED_KINDS:
        product = {"product": (None, str(deed.product))} if deed.product else {}
        rows = [
            AuditedChange(
                run.batch,
                run.brand_id,
                {"codes": (None, f"{run.codes}: {run.first_code} … {run.last_code}"), **product},
            )
            for run in runs
        ]
        audit_log.record(
            deed=audit_log.AuditContext(deed.by, deed.at, reason=deed.reason), action=deed.kind.label, rows=rows
        )


def is_noted(action_id: UUID, *, first: str) -> bool:
    """Whether this action has changed the codes that begin with `first`."""
    return CodeChange.objects.filter(action_id=action_id, first_code=first).exists()


def codes_of(action_id: UUID) -> int:
    """How many codes an action has changed so far."""
    found: int | None = CodeChange.objects.filter(action_id=action_id).aggregate(codes=Sum("codes"))["codes"]
    return found or 0


def _told(deed: CodeChangeContext, batch: BatchRange, first: str, last: str, codes: int) -> CodeChange:
    return CodeChange(
        brand_id=batch.brand_id,
        batch=batch,
        action_id=deed.action_id,
        kind=deed.kind,
        first_code=first,
        last_code=last,
        codes=codes,
        product=deed.product,
        detail=deed.detail,
        reason=deed.reason,
        changed_by=deed.by,
        changed_at=deed.at,
    )


# The trigger lets these columns change while the transaction says that it erases a person, and no others ever.
ERASING = "SELECT set_config('codes.erasing', %s, true)"


def forget_person(*, brand_id: int, mentions: Mentions, pseudonym: str) -> int:
    """For the erasure of a person's data: no reason that staff gave names them any more; returns how many did."""
    pattern = mentions.anywhere.pattern.replace(r"\b", r"\y")  # as PostgreSQL spells the edge of a word
    found = list(CodeChange.objects.filter(brand_id=brand_id, reason__iregex=pattern))
    for change in found:
        change.reason = without(change.reason, mentions.anywhere, pseudonym)
    with connection.cursor() as cursor:
        cursor.execute(ERASING, ["on"])
        CodeChange.objects.bulk_update(found, ["reason"], batch_size=500)
        cursor.execute(ERASING, ["off"])
    return len(found)
