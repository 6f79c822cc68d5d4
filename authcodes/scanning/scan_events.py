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
from authcodes.scanning.snapshot import Asked
from authcodes.scanning.types import Circumstances, CodeFacts, Place
from brands.scanned import Reading, read
from campaigns.models.campaigns import Campaign
from core.db.sql import Fragment
from core.errors import Refused
from events import leases, messages
from events.messages import Delivery
from loyalty import earning
from loyalty.accrual import Action, Claim, Entry, accrue, accrue_together
from loyalty.errors import EmailNotConfirmed, PointsAlreadyClaimed
from loyalty.points import accounts
from loyalty.points.levels import Level
from loyalty.points.point_limits import Allowance

Status, Reason = Scan.PointsStatus, Scan.Reason


def on_scan_auth(delivery: Delivery) -> None:
    """A scan's event: its code is looked at again, then the points follow. A refusal is noted on the scan too."""
    try:
        _accrue(delivery)
    except Refused as refusal:
        with transaction.atomic():
            leases.refuse(delivery, refusal)
            _note_on_scan(delivery, refusal)


def on_scan_auths(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """The events of many scans at once, such as have nothing that stands out; returns the others."""
    readings = [read(str(delivery.payload["product"]["authCode"])) for delivery in deliveries]
    asked = [
        Asked(reading.code if reading else "", delivery.arguments["user_id"], delivery.time, delivery.event_id)
        for delivery, reading in zip(deliveries, readings, strict=True)
    ]
    claims, left = [], []
    for delivery, reading, facts in zip(deliveries, readings, snapshot.read_together(asked), strict=True):
        vouched = _vouched(facts, reading, delivery)
        if vouched and vouched.accepted_scan_id and not vouched.accepted_scan_reserves:
            claims.append(_claim(delivery, vouched, vouched.accepted_scan_id))
        else:
            left.append(delivery)
    return left + [claim.delivery for claim in accrue_together(claims)]


def _vouched(facts: CodeFacts | None, reading: Reading | None, delivery: Delivery) -> CodeFacts | None:
    try:
        return vouch(facts=facts, reading=reading, delivery=delivery)
    except (Refused, messages.Held):
        return None


def _accrue(delivery: Delivery) -> None:
    reading = read(str(delivery.payload["product"]["authCode"]))
    user_id = delivery.arguments["user_id"]
    facts = reading and snapshot.read(code=reading.code, user_id=user_id, at=delivery.time, scan_id=delivery.event_id)
    vouched = vouch(facts=facts or None, reading=reading, delivery=delivery)
    scan_id = vouched.accepted_scan_id or delivery.following_id("scan")
    claim = _claim(delivery, vouched, scan_id)

    def take_slot() -> None:
        place = Place.of(delivery.payload.get("location"))
        about = Circumstances(at=claim.action.at, user_id=user_id, brand_id=delivery.brand_id, place=place)
        record.take_slot(facts=vouched, about=about, scan_id=scan_id)

    def keep_reservation() -> None:
        scan.keep_reservation(scan_id=scan_id)

    has_scan = keep_reservation if vouched.accepted_scan_reserves else None
    accrue(claim, begin=has_scan if vouched.accepted_scan_id else take_slot)


def _claim(delivery: Delivery, vouched: CodeFacts, scan_id: UUID) -> Claim:
    product = delivery.payload["product"]

    def worth(level: Level | None) -> Decimal:
        return earning.for_scan(
            redeem_point_value=product.get("redeem_point_value", vouched.redeem_point_value),
            reward_type=level.scan_reward_type if level else None,
            reward_value=level.scan_reward_value if level else None,
            retail_price=_price(product.get("retailPrice"), vouched.retail_price),
            ceiling=vouched.max_points_per_scan,
        )

    def settle(awarded: Decimal, allowance: Allowance | None) -> Fragment:
        status = Status.LIMITED if allowance and not awarded else Status.AWARDED
        return scanning.settlement(scan_id=scan_id, status=status, awarded=awarded)

    action = Action(
        brand_id=delivery.brand_id,
        user_id=delivery.arguments["user_id"],
        campaign_type=Campaign.Type.SCAN,
        entries=[Entry(reason_id=vouched.code, note=_("Points for scanning %(product)s") % {"product": vouched.title})],
        worth=worth,
        happened_at=delivery.time,
        at=timezone.now(),
        own_campaign_id=vouched.campaign_id,
    )
    return Claim(delivery, action, beside=settle)


def vouch(*, facts: CodeFacts | None, reading: Reading | None, delivery: Delivery) -> CodeFacts:
    """The code's facts, if it may still earn: an accepted scan stands whatever came later, but for a recall.

    Raises AuthCodeInvalid, CodeRecalled, PointsAlreadyClaimed or ScanLimitReached, and Held where somebody's
    reservation would give way to the customer's confirmed e-mail address.
    """
    if facts is None or reading is None or facts.brand_id != delivery.brand_id:
        raise AuthCodeInvalid
    # Our own events name an accepted scan's code without its tag; of any other code nothing may be learnt without it.
    if facts.accepted_scan_id is None and not evaluate.tag_fits(facts, reading):
        raise AuthCodeInvalid
    if facts.recall_id is not None:
        raise CodeRecalled
    if facts.already_claimed:
        raise PointsAlreadyClaimed
    if facts.accepted_scan_id is None:
        _refuse_new_scan(facts, reading, delivery)
    return facts


def _refuse_new_scan(facts: CodeFacts, reading: Reading, delivery: Delivery) -> None:
    """Nobody scanned yet for this customer: the event itself is the scan, and must pass as one."""
    about = Circumstances(at=timezone.now(), user_id=delivery.arguments["user_id"], brand_id=delivery.brand_id)
    reason = evaluate.judge(facts=facts, reading=reading, about=about)
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


def _note_on_scan(delivery: Delivery, refusal: Refused) -> None:
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
