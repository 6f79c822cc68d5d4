"""The history of codes: the only code that writes CodeChange, in the transaction of the change."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Q, Sum

from authcodes.codes.numbering import numbering_of
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.products import Product
from brands import audit_log
from brands.audit_log import AuditedChange
from brands.models.people import User
from brands.user_mentions import Mentions, replace_mentions
from core import languages
from core.db.statements import command

# Beyond it, a file with scattered codes has one line for each batch: the first code, the last, and how many.
MAX_RUNS = 1000
Kind = CodeChange.Kind
AUDITED_KINDS = frozenset(
    {
        Kind.ASSIGNED,
        Kind.UNASSIGNED,
        Kind.DEACTIVATED,
        Kind.REACTIVATED,
        Kind.PRINTED_ELSEWHERE,
        Kind.DELIVERED,
        Kind.DELIVERY_UNDONE,
    }
)
# Kinds that change the product of codes, or whether they are active.
STATE_KINDS = frozenset(
    {
        Kind.ASSIGNED,
        Kind.UNASSIGNED,
        Kind.IMPORTED,
        Kind.IMPORT_UNDONE,
        Kind.DEACTIVATED,
        Kind.REACTIVATED,
    }
)

INSERT_IMPORT_RUNS = command("authcodes/codes/sql/insert_import_runs.sql")


@dataclass(frozen=True, slots=True)
class CodeChangeContext:
    """The context of a change that a user makes in one action."""

    kind: CodeChange.Kind
    at: datetime
    by: User | None = None
    reason: str = ""
    detail: str = ""
    product: Product | None = None
    action_id: UUID = field(default_factory=uuid4)
    key_id: int | None = None  # of the API key that made the change


def differences(row: BatchRange | AuthCode, changed: Mapping[str, Any]) -> str:
    """`field: before → after` on a line for each value of `changed` that the row does not have yet."""
    lines = []
    with languages.in_english():
        for name, after in changed.items():
            before = getattr(row, name)
            if before != after:
                field = row._meta.get_field(name)
                texts = [str("empty" if value in {None, ""} else value) for value in (before, after)]
                lines.append(f"{getattr(field, 'verbose_name', name)}: {texts[0]} \u2192 {texts[1]}")
    return "\n".join(lines)


def note_run(change_context: CodeChangeContext, *, batch: BatchRange, first: str, last: str, codes: int) -> CodeChange:
    """Record that `codes` of the codes from `first` to `last` changed."""
    change = change_of(change_context, batch, first, last, codes)
    change.save(force_insert=True)
    _write_audit_entry(change_context, [change])
    return change


def note_batch(change_context: CodeChangeContext, *, batch: BatchRange, upload: Import | None = None) -> None:
    """Record a change of a batch as a whole. `upload`: the import that added its codes, or removed them again."""
    change = change_of(change_context, batch, batch.first_code, batch.last_code, batch.quantity)
    change.upload = upload
    change.save(force_insert=True)
    _write_audit_entry(change_context, [change])


def note_codes(change_context: CodeChangeContext, *, codes: Iterable[AuthCode]) -> list[CodeChange]:
    """Record that exactly these codes changed: one line per run without a gap. Each code has its batch loaded."""
    ordered = sorted(codes, key=lambda code: (code.batch_id, code.code))
    runs = [
        change_of(change_context, batch, *run)
        for batch, its in groupby(ordered, key=lambda code: code.batch)
        for run in runs_in(batch, [code.code for code in its])
    ]
    CodeChange.objects.bulk_create(runs)
    _write_audit_entry(change_context, runs)
    return runs


def runs_in(batch: BatchRange, codes: list[str]) -> list[tuple[str, str, int]]:
    """The sorted codes of a batch as runs: first, last and how many. Codes without numbers are one run."""
    if batch.printed_elsewhere:
        return [(codes[0], codes[-1], len(codes))]
    return [(run.first_code, run.last_code, run.quantity) for run in numbering_of(batch).runs(codes)]


def note_import(change_context: CodeChangeContext, *, upload: Import) -> None:
    """Record a committed or undone import, with a line for each run of codes in its good rows."""
    INSERT_IMPORT_RUNS.run(
        brand=upload.brand_id,
        action=change_context.action_id,
        kind=change_context.kind.value,
        product=upload.product_id,
        upload=upload.pk,
        by=change_context.by.pk if change_context.by else None,
        at=change_context.at,
        most=MAX_RUNS,
    )


def _write_audit_entry(change_context: CodeChangeContext, runs: Iterable[CodeChange]) -> None:
    """Write changes that no form logs into the audit log, as changes of the batches."""
    if change_context.kind in AUDITED_KINDS:
        product = {"product": (None, str(change_context.product))} if change_context.product else {}
        rows = [
            AuditedChange(
                run.batch,
                run.brand_id,
                {"codes": (None, f"{run.codes}: {run.first_code} … {run.last_code}"), **product},
            )
            for run in runs
        ]
        audit_log.record(
            audit_context=audit_log.AuditContext(
                change_context.by, change_context.at, reason=change_context.reason, key_id=change_context.key_id
            ),
            action=change_context.kind.label,
            rows=rows,
        )


def is_noted(action_id: UUID, *, first: str) -> bool:
    """Whether this action has already changed the codes that begin with `first`."""
    return CodeChange.objects.filter(action_id=action_id, first_code=first).exists()


def runs_of(action_id: UUID) -> list[CodeChange]:
    """What an action has changed so far, in order."""
    return list(CodeChange.objects.filter(action_id=action_id).order_by("pk"))


def is_changed_since(action_id: UUID) -> bool:
    """Whether another action has changed, or may have changed, the same codes since."""
    runs = runs_of(action_id)
    later = CodeChange.objects.filter(
        batch__in={run.batch_id for run in runs}, id__gt=min((run.pk for run in runs), default=0), kind__in=STATE_KINDS
    ).exclude(action_id=action_id)
    spans: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for batch_id, first, last in later.values_list("batch", "first_code", "last_code"):
        spans[batch_id].append((first, last))
    return any(first <= run.last_code and run.first_code <= last for run in runs for first, last in spans[run.batch_id])


def codes_of(action_id: UUID) -> int:
    """How many codes an action has changed so far."""
    totals: int | None = CodeChange.objects.filter(action_id=action_id).aggregate(codes=Sum("codes"))["codes"]
    return totals or 0


def change_of(change_context: CodeChangeContext, batch: BatchRange, first: str, last: str, codes: int) -> CodeChange:
    return CodeChange(
        brand_id=batch.brand_id,
        batch=batch,
        action_id=change_context.action_id,
        kind=change_context.kind,
        first_code=first,
        last_code=last,
        codes=codes,
        product=change_context.product,
        detail=change_context.detail,
        reason=change_context.reason,
        changed_by=change_context.by,
        changed_at=change_context.at,
    )


# The trigger allows changes to these columns only while the transaction is marked as an erasure.
ERASING = "SELECT set_config('codes.erasing', %s, true)"


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> list[CodeChange]:
    """Erase a person from what staff entered: reasons, and the notes and locations in details.

    Returns the changes that named them. Call inside a transaction.
    """
    pattern = mentions.anywhere_in_sql
    named = Q(reason__iregex=pattern) | Q(detail__iregex=pattern)
    rows = list(CodeChange.objects.filter(named, brand_id=brand_id))
    for change in rows:
        change.reason = replace_mentions(change.reason, mentions.anywhere, pseudonym)
        change.detail = replace_mentions(change.detail, mentions.anywhere, pseudonym)
    with connection.cursor() as cursor:
        cursor.execute(ERASING, ["on"])
        CodeChange.objects.bulk_update(rows, ["reason", "detail"], batch_size=500)
        cursor.execute(ERASING, ["off"])
    return rows
