"""Vouches for a scan's code when its event asks for points; the accrual itself is loyalty's."""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes.errors import AuthCodeInvalid, CodeRecalled, ScanLimitReached
from authcodes.models.scans import Scan
from authcodes.scanning import evaluate, record, scan, snapshot
from authcodes.scanning import settle as scanning
from authcodes.scanning.snapshot import ScanLookup
from authcodes.scanning.types import CodeSnapshot, ScanContext, ScanLocation
from brands.scanned import ParsedCode, read
from campaigns.models.campaigns import Campaign
from core.db.sql import Fragment
from core.errors import DomainError
from events import leases, messages
from events.messages import LeasedEvent
from loyalty import earning
from loyalty.accrual import AccrualReason, AccrualRequest, QualifyingAction, accrue, accrue_together
from loyalty.errors import EmailNotConfirmed, PointsAlreadyClaimed
from loyalty.points import accounts
from loyalty.points.levels import Level
from loyalty.points.point_limits import RemainingLimit

Status, Reason = Scan.PointsStatus, Scan.Reason


def on_scan_auth(delivery: LeasedEvent) -> None:
    """A scan's event: its code is looked at again, then the points follow. A refusal is noted on the scan too."""
    try:
        _accrue(delivery)
    except DomainError as refusal:
        with transaction.atomic():
            leases.refuse(delivery, refusal)
            _note_on_scan(delivery, refusal)


def on_scan_auths(deliveries: Sequence[LeasedEvent]) -> list[LeasedEvent]:
    """The events of many scans at once, such as have nothing that stands out; returns the others."""
    readings = [read(str(delivery.payload["product"]["authCode"])) for delivery in deliveries]
    asked = [
        ScanLookup(reading.code if reading else "", delivery.arguments["user_id"], delivery.time, delivery.event_id)
        for delivery, reading in zip(deliveries, readings, strict=True)
    ]
    claims, left = [], []
    for delivery, reading, facts in zip(deliveries, readings, snapshot.fetch_many(asked), strict=True):
        token_verified = _vouched(facts, reading, delivery)
        if token_verified and token_verified.accepted_scan_id and not token_verified.accepted_scan_reserves:
            claims.append(_claim(delivery, token_verified, token_verified.accepted_scan_id))
        else:
            left.append(delivery)
    return left + [claim.delivery for claim in accrue_together(claims)]


def _vouched(facts: CodeSnapshot | None, reading: ParsedCode | None, delivery: LeasedEvent) -> CodeSnapshot | None:
    try:
        return vouch(facts=facts, reading=reading, delivery=delivery)
    except (DomainError, messages.Held):
        return None


def _accrue(delivery: LeasedEvent) -> None:
    reading = read(str(delivery.payload["product"]["authCode"]))
    user_id = delivery.arguments["user_id"]
    facts = reading and snapshot.read(code=reading.code, user_id=user_id, at=delivery.time, scan_id=delivery.event_id)
    token_verified = vouch(facts=facts or None, reading=reading, delivery=delivery)
    scan_id = token_verified.accepted_scan_id or delivery.following_id("scan")
    claim = _claim(delivery, token_verified, scan_id)

    def record_accrual_scan() -> None:
        place = ScanLocation.of(delivery.payload.get("location"))
        about = ScanContext(at=claim.action.at, user_id=user_id, brand_id=delivery.brand_id, place=place)
        record.record_accrual_scan(facts=token_verified, about=about, scan_id=scan_id)

    def keep_reservation() -> None:
        scan.keep_reservation(scan_id=scan_id)

    has_scan = keep_reservation if token_verified.accepted_scan_reserves else None
    accrue(claim, begin=has_scan if token_verified.accepted_scan_id else record_accrual_scan)


def _claim(delivery: LeasedEvent, token_verified: CodeSnapshot, scan_id: UUID) -> AccrualRequest:
    product = delivery.payload["product"]

    def worth(level: Level | None) -> Decimal:
        return earning.for_scan(
            redeem_point_value=product.get("redeem_point_value", token_verified.redeem_point_value),
            reward_type=level.scan_reward_type if level else None,
            reward_value=level.scan_reward_value if level else None,
            retail_price=_price(product.get("retailPrice"), token_verified.retail_price),
            ceiling=token_verified.max_points_per_scan,
        )

    def settle(awarded: Decimal, allowance: RemainingLimit | None) -> Fragment:
        status = Status.LIMITED if allowance and not awarded else Status.AWARDED
        return scanning.settlement(scan_id=scan_id, status=status, awarded=awarded)

    action = QualifyingAction(
        brand_id=delivery.brand_id,
        user_id=delivery.arguments["user_id"],
        campaign_type=Campaign.Type.SCAN,
        entries=[
            AccrualReason(
                reason_id=token_verified.code,
                note=_("Points for scanning %(product)s") % {"product": token_verified.title},
            )
        ],
        worth=worth,
        happened_at=delivery.time,
        at=timezone.now(),
        own_campaign_id=token_verified.campaign_id,
    )
    return AccrualRequest(delivery, action, beside=settle)


def vouch(*, facts: CodeSnapshot | None, reading: ParsedCode | None, delivery: LeasedEvent) -> CodeSnapshot:
    """The code's facts, if it may still earn: an accepted scan stands whatever came later, but for a recall.

    Raises AuthCodeInvalid, CodeRecalled, PointsAlreadyClaimed or ScanLimitReached, and Held where somebody's
    reservation would give way to the customer's confirmed e-mail address.
    """
    if facts is None or reading is None or facts.brand_id != delivery.brand_id:
        raise AuthCodeInvalid
    # Our own events name an accepted scan's code without its tag; of any other code nothing may be learnt without it.
    if facts.accepted_scan_id is None and not evaluate.tag_is_valid(facts, reading):
        raise AuthCodeInvalid
    if facts.recall_id is not None:
        raise CodeRecalled
    if facts.already_claimed:
        raise PointsAlreadyClaimed
    if facts.accepted_scan_id is None:
        _refuse_new_scan(facts, reading, delivery)
    return facts


def _refuse_new_scan(facts: CodeSnapshot, reading: ParsedCode, delivery: LeasedEvent) -> None:
    """Nobody scanned yet for this customer: the event itself is the scan, and must pass as one."""
    about = ScanContext(at=timezone.now(), user_id=delivery.arguments["user_id"], brand_id=delivery.brand_id)
    reason = evaluate.evaluate_scan(facts=facts, reading=reading, about=about)
    if reason == Reason.RESERVED and facts.unconfirmed:  # with a confirmed address they may take it over
        user_id = delivery.arguments["user_id"]
        still_holds = partial(accounts.lock_unconfirmed, user_id=user_id)
        raise messages.Held(EmailNotConfirmed(), user_id=user_id, still_holds=still_holds)
    if reason in {Reason.LIMIT_REACHED, Reason.RESERVED}:
        raise ScanLimitReached
    if reason == Reason.CAMPAIGN_INACTIVE:
        raise AuthCodeInvalid(_("The campaign of this auth code is not running."))
    if reason == Reason.PRODUCT_INACTIVE:
        raise AuthCodeInvalid(_("The product of this auth code is no longer sold."))
    if reason != Reason.ACCEPTED:
        raise AuthCodeInvalid


def _note_on_scan(delivery: LeasedEvent, refusal: DomainError) -> None:
    """Only the scan that the event asks for, and only if it still waits: the event may not come from a scan here."""
    status = Status.ALREADY_CLAIMED if isinstance(refusal, PointsAlreadyClaimed) else Status.NOT_ELIGIBLE
    theirs = Scan.objects.filter(brand_id=delivery.brand_id, user_id=delivery.arguments["user_id"])
    own = theirs.filter(pk=delivery.event_id).first()
    if own is None:
        return
    waits = [Status.PENDING]
    if status == Status.ALREADY_CLAIMED:  # else it goes on reserving the code for whoever may have it
        waits.append(Status.UNCONFIRMED)
    waiting = theirs.filter(points_status__in=waits)
    if own.reason == Reason.LIMIT_REACHED:  # it asked for the points of an accepted scan
        asked = waiting.filter(auth_code=own.auth_code_id)
    else:
        asked = waiting.filter(pk=own.pk)
    for scan_id in asked.values_list("pk", flat=True):
        scanning.settle(scan_id=scan_id, status=status)


def _price(stated: object, catalogue: Decimal | None) -> Decimal | None:
    return catalogue if stated is None else Decimal(str(stated))
