"""Code changes by staff: only this module assigns codes by hand, (de)activates them and edits their notes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.codes import change_events, history, scan_value
from authcodes.codes.batches import batches_of
from authcodes.codes.history import CodeChangeContext
from authcodes.codes.ranges import CodeRange, resolve_range
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.models.people import User
from brands.user_mentions import Mentions, replace_mentions
from core import languages
from core.db.advisory_locks import LockOfRow, lock_row, try_lock_row
from core.db.statements import Query, command, part, query_values
from core.db.timeouts import SET_LONG_TIMEOUT
from core.numbers import MAX_INTEGER, grouped
from jobs import queue, runner
from jobs.kinds import JobKind
from jobs.models import Job

MAX_POINTS = MAX_INTEGER  # the maximum of the column for points per scan
MAX_LOCATION_LENGTH = 120  # characters, as in the column
ALREADY_ASSIGNED = gettext_noop("Auth code range already assigned")  # the specification's wording
# Codes changed within a request; a job changes more. A job deactivates or reactivates at most this many in one
# transaction, because scans of these codes wait for it to end.
CODES_AT_ONCE = 50_000
ALL_OR_NOTHING = gettext_lazy("No codes are changed, unless the job has already finished.")

Kind = CodeChange.Kind
SWITCHES = frozenset({Kind.DEACTIVATED, Kind.REACTIVATED})


@dataclass(frozen=True, slots=True)
class Assignment:
    """The values to assign to codes. An empty value leaves each code's own value as it is."""

    product: Product
    inventory_location: str = ""
    points_per_scan: int | None = None
    notes: str = ""

    @property
    def summary(self) -> str:
        details = {
            gettext_noop("Inventory location"): self.inventory_location,
            gettext_noop("Points per scan"): self.points_per_scan,
            gettext_noop("Notes"): self.notes,
        }
        return "\n".join(f"{name}: {value}" for name, value in details.items() if value not in {None, ""})


@dataclass(frozen=True, slots=True)
class CodeChangeRequest:
    """The requested change: assign (with an assignment), unassign, deactivate or reactivate."""

    kind: CodeChange.Kind
    reason: str = ""
    assignment: Assignment | None = None
    key_id: int | None = None  # of the API key that requested it
    retains_points: bool = False  # unassigned codes keep their own points


IN_RANGE = part("authcodes/codes/sql/codes_in_range.sql")
AMONG = part("authcodes/codes/sql/codes_among.sql")
# Each statement changes only what its kind may change, so a concurrent change is not overwritten.
CHANGES = {
    Kind.ASSIGNED: "authcodes/codes/sql/assign_codes.sql",
    Kind.UNASSIGNED: "authcodes/codes/sql/unassign_codes.sql",
    Kind.DEACTIVATED: "authcodes/codes/sql/deactivate_codes.sql",
    Kind.REACTIVATED: "authcodes/codes/sql/reactivate_codes.sql",
}
CHANGE_RANGE = {kind: command(path, which=IN_RANGE, returning="") for kind, path in CHANGES.items()}
CHANGE_AMONG = {kind: query_values(path, "id", which=AMONG, returning="RETURNING id") for kind, path in CHANGES.items()}
COUNT_ASSIGNED_IN_RANGE = query_values("authcodes/codes/sql/count_assigned.sql", "assigned", which=IN_RANGE)
COUNT_ASSIGNED_AMONG = query_values("authcodes/codes/sql/count_assigned.sql", "assigned", which=AMONG)


def change(
    *,
    codes: CodeRange,
    requested: CodeChangeRequest,
    by: User | None,
    at: datetime,
    action_id: UUID | None = None,
    is_part: bool = False,
    waits: bool = True,
) -> int:
    """Change a range of codes: one UPDATE and one line in their history. Returns how many codes changed.

    Assigning and unassigning are all or nothing. Raises BatchRejected if some codes have another product or were
    scanned, and, unless `waits`, while the brand's codes are being changed. With an `action_id` the change is made only
    once. `is_part`: the caller publishes the event for the whole action.
    """
    _check_assignment(requested, by)
    change_context = _change_context(requested, by, at, action_id)
    where = {"batch": codes.batch.pk, "first": codes.first, "last": codes.last}
    where["keeps_points"] = requested.retains_points or _retains_points(by, [codes.batch.brand_id])
    with transaction.atomic():
        if waits:
            with connection.cursor() as cursor:
                cursor.execute(SET_LONG_TIMEOUT)
        lock_code_changes(codes.batch.brand_id, waits=waits)
        if action_id and history.is_noted(action_id, first=codes.first):
            return 0
        changed = CHANGE_RANGE[requested.kind].run(**_values(requested, change_context.at), **where)
        _check_whole_batches(requested, COUNT_ASSIGNED_IN_RANGE, where, missing=codes.size - changed)
        if changed:
            run = history.note_run(change_context, batch=codes.batch, first=codes.first, last=codes.last, codes=changed)
            if not is_part:
                change_events.publish(runs=[run])
    return changed


def change_codes(
    *,
    codes: Iterable[AuthCode],
    requested: CodeChangeRequest,
    by: User | None,
    at: datetime,
    action_id: UUID | None = None,
    waits: bool = True,
) -> int:
    """Change these codes: one UPDATE, and a history line for each run without a gap. Otherwise like `change`."""
    _check_assignment(requested, by)
    brands = {code.pk: code.brand_id for code in codes}
    retains = requested.retains_points or _retains_points(by, set(brands.values()))
    where = {"ids": list(brands), "keeps_points": retains}
    with transaction.atomic():
        for brand_id in sorted(set(brands.values())):
            lock_code_changes(brand_id, waits=waits)
        changed = CHANGE_AMONG[requested.kind].all(**_values(requested, at), **where)
        _check_whole_batches(requested, COUNT_ASSIGNED_AMONG, where, missing=len(brands) - len(changed))
        touched = AuthCode.objects.filter(pk__in=changed).select_related("batch")
        change_events.publish(runs=history.note_codes(_change_context(requested, by, at, action_id), codes=touched))
    return len(changed)


def _check_assignment(requested: CodeChangeRequest, by: User | None) -> None:
    """Raises BatchRejected for a product not sold, or for points, also of the product, that `by` may not set."""
    if assignment := requested.assignment:
        if not assignment.product.is_active:
            raise BatchRejected(_("This product is no longer sold."), details={"field": "product"})
        scan_value.check_product(product=assignment.product, by=by)
        scan_value.check_points(brand=assignment.product.brand, points=assignment.points_per_scan, by=by)


def _retains_points(by: User | None, brand_ids: Iterable[int]) -> bool:
    """Unassigned codes lose their own points, unless `by` may not set points."""
    return by is not None and not all(scan_value.may_set(by, brand_id) for brand_id in brand_ids)


def lock_code_changes(brand_id: int, *, waits: bool) -> None:
    """Lock the brand's codes against other changes by hand until the transaction ends.

    Overlapping changes would deadlock on each other's rows. Raises BatchRejected if another change is running, unless
    it `waits`.
    """
    if waits:
        lock_row(LockOfRow.CODE_CHANGES, brand_id)
    elif not try_lock_row(LockOfRow.CODE_CHANGES, brand_id):
        raise BatchRejected(_("Another change to this brand's codes is running. Try again when it has finished."))


def _change_context(
    requested: CodeChangeRequest, by: User | None, at: datetime, action_id: UUID | None
) -> CodeChangeContext:
    assignment = requested.assignment
    product, detail = (assignment.product, assignment.summary) if assignment else (None, "")
    return CodeChangeContext(
        requested.kind,
        at,
        by,
        requested.reason.strip(),
        detail,
        product,
        action_id or uuid4(),
        requested.key_id,
    )


def _values(requested: CodeChangeRequest, at: datetime) -> dict[str, Any]:
    """The parameters of the statements in CHANGES."""
    assignment = requested.assignment
    return {
        "product": assignment.product.pk if assignment else None,
        "location": assignment.inventory_location if assignment else "",
        "points": assignment.points_per_scan if assignment else None,
        "notes": assignment.notes if assignment else "",
        "at": at,
    }


def _check_whole_batches(
    requested: CodeChangeRequest, count_assigned: Query[int], where: dict[str, Any], *, missing: int
) -> None:
    """Roll back a change that could be made to only some of the codes."""
    if requested.kind == Kind.ASSIGNED and missing:
        text = ngettext(
            "%(number)s of the codes is assigned to another product. No codes were changed.",
            "%(number)s of the codes are assigned to another product. No codes were changed.",
            missing,
        )
        message = f"{_(ALREADY_ASSIGNED)}: {text % {'number': grouped(missing)}}"
        raise BatchRejected(message)
    if requested.kind == Kind.UNASSIGNED:
        scanned = count_assigned.first(**where)
        if scanned:
            message = ngettext(
                "%(number)s of the codes has been scanned and cannot be unassigned. No codes were changed.",
                "%(number)s of the codes have been scanned and cannot be unassigned. No codes were changed.",
                scanned,
            )
            raise BatchRejected(message % {"number": grouped(scanned)})


def start_change(*, codes: CodeRange, requested: CodeChangeRequest, by: User | None) -> Job:
    """Have a worker change a range that is too large for a request."""
    details = {"change": requested.kind.label, "number": codes.size, "range": codes.batch.range_name}
    with languages.in_english():
        title = ngettext(
            "%(change)s: %(number)d code of %(range)s", "%(change)s: %(number)d codes of %(range)s", codes.size
        )
        title %= details
    parameters: dict[str, Any] = {
        "batch_id": codes.batch.pk,
        "first": codes.first,
        "last": codes.last,
        "kind": requested.kind.value,
        "reason": requested.reason,
        "action_id": str(uuid4()),
        "key_id": requested.key_id,
    }
    if assignment := requested.assignment:
        parameters["assignment"] = {
            "product_id": assignment.product.pk,
            "inventory_location": assignment.inventory_location,
            "points_per_scan": assignment.points_per_scan,
            "notes": assignment.notes,
        }
    with transaction.atomic():
        return queue.start(
            brand=codes.batch.brand,
            kind=CHANGE.name,
            title=title,
            parameters=parameters,
            by=by,
            total=codes.size,
        )


def run_change(run: runner.Run) -> None:
    """Job handler: assigns in one transaction; deactivates or reactivates part by part.

    A repeated run skips what is done. A cancelled run leaves it done; the history records how much.
    """
    codes, requested, action_id = _request_of(run)
    done = 0
    for code_range in codes.parts(CODES_AT_ONCE) if requested.kind in SWITCHES else [codes]:
        run.progress(done, codes.size)  # last chance to cancel the remaining codes
        now, by = timezone.now(), run.job.created_by
        change(codes=code_range, requested=requested, by=by, at=now, action_id=action_id, is_part=True)
        done += code_range.size
    run.note_progress(done, codes.size)
    changed = history.codes_of(action_id)
    message = ngettext("%(number)s code changed.", "%(number)s codes changed.", changed)
    run.log(message % {"number": grouped(changed)} if changed else gettext_noop("No codes needed to change."))


def end_change(job: Job) -> None:
    """Publish one webhook event for everything that the job changed, whether or not it finished."""
    change_events.publish(runs=history.runs_of(UUID(job.parameters["action_id"])), is_in_parts=True)


CHANGE = JobKind(
    name="change-codes",
    label=gettext_lazy("Change codes in bulk"),
    run=run_change,
    on_cancel=ALL_OR_NOTHING,
    on_end=end_change,
    related_rows=batches_of,
)


def _request_of(run: runner.Run) -> tuple[CodeRange, CodeChangeRequest, UUID]:
    """The request that start_change stored."""
    parameters = run.parameters
    batch = BatchRange.objects.get(pk=parameters["batch_id"], brand=run.job.brand)
    assignment = None
    if assignment := parameters.get("assignment"):
        product = Product.objects.get(pk=assignment["product_id"], brand=run.job.brand)
        changes = {name: value for name, value in assignment.items() if name != "product_id"}
        assignment = Assignment(product=product, **changes)
    requested = CodeChangeRequest(Kind(parameters["kind"]), parameters["reason"], assignment, parameters.get("key_id"))
    codes = resolve_range(batch=batch, first=parameters["first"], last=parameters["last"])
    return codes, requested, UUID(parameters["action_id"])


def edit_code(*, code: AuthCode, changed: Mapping[str, Any], by: User, at: datetime) -> None:
    """Edit a code's location and notes, without touching what concurrent scans count."""
    with transaction.atomic():
        before = AuthCode.objects.select_for_update(of=("self",)).select_related("batch").get(pk=code.pk)
        detail = history.differences(before, changed)
        if detail:
            AuthCode.objects.filter(pk=code.pk).update(**changed)
            history.note_codes(CodeChangeContext(Kind.EDITED, at, by, detail=detail), codes=[before])


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> None:
    """Erase a person from the history of codes, and from the notes and locations of the codes whose edits named them.

    Call inside a transaction.
    """
    changes = history.erase_user(brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    edited = [change.first_code for change in changes if change.kind == Kind.EDITED]
    codes = list(AuthCode.objects.filter(brand_id=brand_id, code__in=edited))
    for code in codes:
        code.notes = replace_mentions(code.notes, mentions.anywhere, pseudonym)
        code.location = replace_mentions(code.location, mentions.anywhere, pseudonym)
    AuthCode.objects.bulk_update(codes, ["notes", "location"], batch_size=500)
