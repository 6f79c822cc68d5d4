"""Handles the events of scans: checks the code again, then accrues."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes.errors import AuthCodeInvalid, CodeRecalled, ScanLimitReached
from authcodes.models.scans import Scan
from authcodes.scanning import evaluate, record, scan, scan_points, snapshot
from authcodes.scanning.snapshot import FETCH_PAST_CODES, ScanLookup
from authcodes.scanning.types import ZERO, CodeSnapshot, ScanContext, ScanLocation
from brands.scanned import ParsedCode, read
from campaigns.accrual.accrue import ACCRUAL_ERRORS, accrue, accrue_batch
from campaigns.accrual.merged_members import of_current_member
from campaigns.accrual.types import AccrualReason, AccrualRequest
from campaigns.earning.action_context import ActionContext
from campaigns.replay.actions import PastAction, Replayable
from core.db.sql import Fragment
from core.db.statements import command, part
from core.errors import DomainError, raises
from events import leases, messages
from events.messages import LeasedEvent
from loyalty.errors import EmailNotConfirmed, MemberMerged, PointsAlreadyClaimed
from loyalty.points import accounts
from loyalty.points.point_limits import RemainingLimit

Status, Reason = Scan.PointsStatus, Scan.Reason

# Each writes the final status of a scan's points: alone, or in the statement that credits the points.
SETTLE_SCAN = command("authcodes/scanning/sql/settle_scan.sql")
SETTLE_SCANS = part("authcodes/scanning/sql/settle_scans.sql")


@raises(*ACCRUAL_ERRORS, AuthCodeInvalid, CodeRecalled, ScanLimitReached)
def on_scan_auth(event: LeasedEvent) -> None:
    """Credit a scan. A domain error rejects the event and settles the scan."""
    try:
        _accrue(event)
    except MemberMerged:
        on_scan_auth(_of_current_member(event))
    except DomainError as error:
        with transaction.atomic():
            leases.reject(event, error)
            _settle_rejected_scan(event, error)


def _of_current_member(event: LeasedEvent) -> LeasedEvent:
    """Move a merged account's event, and uncredited scans of its code, to the remaining member."""
    moved = of_current_member(event)
    parsed = read(str(event.payload["product"]["authCode"]))
    if parsed:
        scans = Scan.objects.filter(brand=event.brand_id, user=event.arguments["user_id"], code=parsed.code)
        scans.exclude(points_status=Status.AWARDED).update(user=moved.arguments["user_id"])
    return moved


def on_scan_auth_batch(events: Sequence[LeasedEvent]) -> list[LeasedEvent]:
    """Credit many scans at once. Returns the events that must go through on_scan_auth."""
    parsed_codes = [read(str(event.payload["product"]["authCode"])) for event in events]
    lookups = [
        ScanLookup(parsed.code if parsed else "", event.arguments["user_id"], event.time, event.event_id)
        for event, parsed in zip(events, parsed_codes, strict=True)
    ]
    requests, unbatched = [], []
    for event, parsed, details in zip(events, parsed_codes, snapshot.fetch_many(lookups), strict=True):
        code = _checked_or_none(details, parsed, event)
        if code and code.accepted_scan_id and not code.accepted_scan_reserves:
            requests.append(_request(event, code, code.accepted_scan_id))
        else:
            unbatched.append(event)
    return unbatched + [request.event for request in accrue_batch(requests)]


def _checked_or_none(
    snapshot: CodeSnapshot | None, parsed: ParsedCode | None, event: LeasedEvent
) -> CodeSnapshot | None:
    try:
        return check_code(snapshot=snapshot, parsed=parsed, event=event)
    except (DomainError, messages.OnHold):
        return None


def _accrue(event: LeasedEvent) -> None:
    parsed = read(str(event.payload["product"]["authCode"]))
    user_id = event.arguments["user_id"]
    details = parsed and snapshot.read(code=parsed.code, user_id=user_id, at=event.time, scan_id=event.event_id)
    code = check_code(snapshot=details or None, parsed=parsed, event=event)
    scan_id = code.accepted_scan_id or event.following_id("scan")
    request = _request(event, code, scan_id)

    def record_accrual_scan() -> None:
        place = ScanLocation.of(event.payload.get("location"))
        context = ScanContext(at=request.action.at, user_id=user_id, brand_id=event.brand_id, place=place)
        record.record_accrual_scan(snapshot=code, context=context, scan_id=scan_id)

    def renew_reservation() -> None:
        scan.renew_reservation(scan_id=scan_id)

    has_scan = renew_reservation if code.accepted_scan_reserves else None
    accrue(request, begin=has_scan if code.accepted_scan_id else record_accrual_scan)


def _request(event: LeasedEvent, code: CodeSnapshot, scan_id: UUID) -> AccrualRequest:
    def settle(awarded: Decimal, limit: RemainingLimit | None) -> Fragment:
        status = Status.LIMITED if limit and not awarded else Status.AWARDED
        settled = {"scan_id": str(scan_id), "points_status": status.value, "points_awarded": str(awarded)}
        return Fragment(SETTLE_SCANS, settled)

    action = scan_points.qualifying_action(
        event.payload, code, user_id=event.arguments["user_id"], happened_at=event.time, at=timezone.now()
    )
    return AccrualRequest(event, action, extra_cte=settle)


def context_of(
    payload: Mapping[str, Any], *, brand_id: int, user_id: int, happened_at: datetime
) -> ActionContext | None:
    """A past scan as rules see it, with the code as it is now; None if the brand no longer has the code."""
    parsed = read(str(payload["product"]["authCode"]))
    code = snapshot.read(code=parsed.code, user_id=user_id, at=happened_at) if parsed else None
    if code is None or code.brand_id != brand_id:
        return None
    return scan_points.scan_action_context(payload, code, happened_at=happened_at, ceiling=code.max_points_per_scan)


def past_scans(brand_id: int, actions: Sequence[PastAction], ceilings: Sequence[int]) -> list[Replayable | None]:
    """Past scans for a replay; None for a code that the brand no longer has.

    `ceilings`: the brand's ceiling for percentages when each scan was credited.
    """
    parsed_codes = [read(str(((action.payload or {}).get("product") or {}).get("authCode", ""))) for action in actions]
    codes = [parsed.code for parsed in parsed_codes if parsed]
    by_code = {row.code: row for row in FETCH_PAST_CODES.all(brand_id=brand_id, codes=codes)}
    result: list[Replayable | None] = []
    for action, parsed, ceiling in zip(actions, parsed_codes, ceilings, strict=True):
        code = by_code.get(parsed.code) if parsed else None
        if code is None or action.payload is None:
            result.append(None)
            continue
        context = scan_points.scan_action_context(action.payload, code, happened_at=action.happened_at, ceiling=ceiling)
        result.append(Replayable(context, [AccrualReason(code.code, "")]))
    return result


def check_code(*, snapshot: CodeSnapshot | None, parsed: ParsedCode | None, event: LeasedEvent) -> CodeSnapshot:
    """The code, if it may still earn. An accepted scan earns whatever changed since, unless the batch was recalled.

    Raises AuthCodeInvalid, CodeRecalled, PointsAlreadyClaimed or ScanLimitReached. Raises OnHold if another reservation
    would give way once the customer's e-mail address is confirmed.
    """
    if snapshot is None or parsed is None or snapshot.brand_id != event.brand_id:
        raise AuthCodeInvalid
    # Our own events name an accepted scan's code without its tag. Other codes need it, so that nothing is revealed.
    if snapshot.accepted_scan_id is None and not evaluate.tag_is_valid(snapshot, parsed):
        raise AuthCodeInvalid
    if snapshot.recall_id is not None:
        raise CodeRecalled
    if snapshot.already_claimed:
        raise PointsAlreadyClaimed
    if snapshot.accepted_scan_id is None:
        _check_new_scan(snapshot, parsed, event)
    return snapshot


def _check_new_scan(snapshot: CodeSnapshot, parsed: ParsedCode, event: LeasedEvent) -> None:
    """The customer has no accepted scan yet, so the event itself is the scan and must pass the same checks."""
    context = ScanContext(at=timezone.now(), user_id=event.arguments["user_id"], brand_id=event.brand_id)
    reason = evaluate.evaluate_scan(snapshot=snapshot, reading=parsed, context=context)
    if reason == Reason.RESERVED and snapshot.unconfirmed:  # with a confirmed address they may take it over
        user_id = event.arguments["user_id"]
        still_holds = partial(accounts.lock_unconfirmed, user_id=user_id)
        raise messages.OnHold(EmailNotConfirmed(), user_id=user_id, still_holds=still_holds)
    if reason in {Reason.LIMIT_REACHED, Reason.RESERVED}:
        raise ScanLimitReached
    if reason == Reason.CAMPAIGN_INACTIVE:
        raise AuthCodeInvalid(_("The campaign of this auth code is not running."))
    if reason == Reason.PRODUCT_INACTIVE:
        raise AuthCodeInvalid(_("The product of this auth code is no longer sold."))
    if reason != Reason.ACCEPTED:
        raise AuthCodeInvalid


def _settle_rejected_scan(event: LeasedEvent, error: DomainError) -> None:
    """Settle only the scan of the event, and only if it still waits: the event may not come from a scan here."""
    status = Status.ALREADY_CLAIMED if isinstance(error, PointsAlreadyClaimed) else Status.NOT_ELIGIBLE
    rows = Scan.objects.filter(brand_id=event.brand_id, user_id=event.arguments["user_id"])
    own = rows.filter(pk=event.event_id).first()
    if own is None:
        return
    waits = [Status.PENDING]
    if status == Status.ALREADY_CLAIMED:  # otherwise it keeps reserving the code for its customer
        waits.append(Status.UNCONFIRMED)
    waiting = rows.filter(points_status__in=waits)
    if own.reason == Reason.LIMIT_REACHED:  # it requested the points of an accepted scan
        scan_rows = waiting.filter(auth_code=own.auth_code_id)
    else:
        scan_rows = waiting.filter(pk=own.pk)
    for scan_id in scan_rows.values_list("pk", flat=True):
        SETTLE_SCAN.run(scan_id=scan_id, points_status=status.value, points_awarded=ZERO)
