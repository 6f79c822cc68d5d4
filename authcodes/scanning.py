"""Scanning: the only code that writes Scan and a code's scan count."""

import os
import time
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from authcodes import facts as code_facts
from authcodes import places, rollups, tags
from authcodes.facts import CodeFacts
from authcodes.models import Scan
from authcodes.refusals import ScanLimitReached, ScanNotAdoptable
from brands import metrics, sql
from brands.authentication import active_user
from brands.refusals import TokenInvalid
from brands.scanned import Reading, read
from brands.tokens import Principal
from campaigns.models import Campaign
from loyalty import events, points, webhooks
from loyalty.models import UserPoints, WebhookType
from loyalty.points import plain
from loyalty.refusals import IdempotencyKeyReused

ZERO = Decimal(0)
LONGEST_LABEL = 200
Outcome, Reason, PointsStatus = Scan.Outcome, Scan.Reason, Scan.PointsStatus
# A customer's scan whose points are asked for.
EARNING = {PointsStatus.PENDING, PointsStatus.UNCONFIRMED}
PUBLIC_STATUSES = [status.value for status in PointsStatus if status != PointsStatus.UNCONFIRMED]
# Losing the race for a slot means that the code has changed: read it again. It cannot change for ever.
TRIES = 5

RECORD = """
    INSERT INTO authcodes_scan
           (scan_id, brand_id, auth_code_id, code, user_id, batch_id, product_id, campaign_id, outcome, reason,
            points_status, unconfirmed, points_promised, points_awarded, scan_count, latitude, longitude, location,
            located_at, device, app_version, scanned_at)
    SELECT %(scan_id)s::uuid, %(brand_id)s::bigint, %(code_id)s::bigint, %(code)s::text, %(user_id)s::bigint,
           %(batch_id)s::bigint, %(product_id)s::bigint, %(campaign_id)s::bigint, %(outcome)s::text,
           %(reason)s::text, %(points_status)s::text, %(unconfirmed)s::boolean, %(points_promised)s::numeric, 0,
           {scan_count}, %(latitude)s::float, %(longitude)s::float, %(location)s::text,
           CASE WHEN %(location)s::text <> '' OR %(latitude)s::float IS NOT NULL THEN %(at)s::timestamptz END,
           %(device)s::text, %(app_version)s::text, %(at)s::timestamptz
      FROM {origin}
    RETURNING scan_id
"""

# The limit stands in the UPDATE itself: however many scan at once, a code gives no more slots than it has.
SLOT = """
    UPDATE authcodes_authcode c
       SET scan_count = c.scan_count + 1, first_scan_at = COALESCE(c.first_scan_at, %(at)s::timestamptz),
           first_scan_location = CASE WHEN c.scan_count = 0 THEN %(location)s::text ELSE c.first_scan_location END
      FROM authcodes_batchrange b
     WHERE c.id = %(code_id)s::bigint AND b.id = c.batch_id AND c.deactivated_at IS NULL
       AND (b.scan_limit IS NULL OR c.scan_count - c.slots_given_back < b.scan_limit)
       AND NOT EXISTS (SELECT 1 FROM authcodes_recall r WHERE r.batch_id = b.id)
    RETURNING c.scan_count
"""
# The same where the scan of a guest, or of an unconfirmed customer, gives its slot back to this one. That scan is
# locked as long as nobody has claimed it: it is either claimed or taken over.
SLOT_OF_GUEST = (
    SLOT.replace(
        "FROM authcodes_batchrange b",
        """FROM authcodes_batchrange b,
           (SELECT s.scan_id FROM authcodes_scan s
             WHERE s.scan_id = %(reservation_id)s::uuid AND s.points_status IN ('guest', 'unconfirmed')
               FOR UPDATE) AS reservation""",
    )
    .replace("SET scan_count", "SET slots_given_back = c.slots_given_back + 1, scan_count")
    .replace("< b.scan_limit", "<= b.scan_limit")
)

ACCEPT = f"""
    WITH slot AS ({SLOT}),
         recorded AS ({RECORD.format(scan_count="slot.scan_count", origin="slot")}),
         published AS ({events.INSERT_BESIDE.format(beside="slot")})
    SELECT scan_count FROM slot
"""  # noqa: S608 - built from constants
LAPSE = """
    UPDATE authcodes_scan s SET points_status = 'lapsed' FROM slot WHERE s.scan_id = %(reservation_id)s::uuid
"""
TAKE_OVER = ACCEPT.replace(f"({SLOT}),", f"({SLOT_OF_GUEST}), lapsed AS ({LAPSE}),")

ATTEMPT = RECORD.format(scan_count="%(scan_count)s::int", origin="(SELECT 1) AS here")
ATTEMPT_TOLD = f"""
    WITH recorded AS ({ATTEMPT}),
         published AS ({events.INSERT_BESIDE.format(beside="recorded")})
    SELECT scan_id FROM recorded
"""  # noqa: S608 - built from constants

SETTLE = """
    UPDATE authcodes_scan SET points_status = %(points_status)s::text, points_awarded = %(points_awarded)s::numeric
     WHERE scan_id = %(scan_id)s::uuid RETURNING scan_id
"""
SETTLE_BESIDE = """
    UPDATE authcodes_scan s SET points_status = b.points_status, points_awarded = b.points_awarded
      FROM held
      JOIN jsonb_to_recordset(%(beside)s::jsonb)
           AS b (item int, scan_id uuid, points_status text, points_awarded numeric) USING (item)
     WHERE s.scan_id = b.scan_id
"""

# An unconfirmed customer's scan, once the address is confirmed: from here on nobody takes it over.
KEEP_RESERVATION = """
    UPDATE authcodes_scan SET points_status = 'pending'
     WHERE scan_id = %(scan_id)s::uuid AND points_status = 'unconfirmed'
    RETURNING scan_id
"""

# A customer's accepted scan of a code, the one that an accrual would credit, if a limit once held its points back.
STANDING = """
    SELECT (array_agg(s.scan_id ORDER BY s.scanned_at)
            FILTER (WHERE s.outcome = 'success' AND s.points_status <> 'lapsed'
                      AND (s.reason = 'accepted' OR %(earns)s::boolean)))[1]
      FROM authcodes_scan s
     WHERE s.user_id = %(user_id)s::bigint AND s.auth_code_id = %(code_id)s::bigint
    HAVING bool_or(s.points_status = 'limited')
"""
# However many ask for its points again at once, one of them does, and one event follows.
REOPEN = """
    UPDATE authcodes_scan SET points_status = 'pending'
     WHERE scan_id = %(scan_id)s::uuid AND points_status IN ('limited', 'not_eligible')
    RETURNING scan_id
"""

# However many claim a guest's scan at once, the condition lets one of them have it, and one event follows.
ADOPT = f"""
    WITH adopted AS (
        UPDATE authcodes_scan
           SET user_id = %(user_id)s::bigint, points_status = %(points_status)s::text,
               unconfirmed = %(unconfirmed)s::boolean, points_promised = %(points_promised)s::numeric
         WHERE scan_id = %(scan_id)s::uuid AND user_id IS NULL AND points_status = 'guest'
        RETURNING scan_id
    ), published AS ({events.INSERT_BESIDE.format(beside="adopted")})
    SELECT scan_id FROM adopted
"""  # noqa: S608 - built from constants

# Once: where somebody was is told with the scan or soon after it, and not corrected.
PLACE = """
    WITH placed AS (
        UPDATE authcodes_scan
           SET latitude = %(latitude)s::float, longitude = %(longitude)s::float, location = %(location)s::text,
               located_at = now()
         WHERE scan_id = %(scan_id)s::uuid AND latitude IS NULL AND location = ''
        RETURNING auth_code_id, location, outcome, scan_count
    ), first AS (
        UPDATE authcodes_authcode c SET first_scan_location = p.location
          FROM placed p WHERE c.id = p.auth_code_id AND p.outcome = 'success' AND p.scan_count = 1
        RETURNING c.id
    )
    SELECT count(*) FROM placed
"""

# A person's scans at a brand, or, where nothing is left of the person themselves, all of them: codes of nobody, and of
# other brands, that they tried as this one's customer. The city stays.
FORGET = """
    UPDATE authcodes_scan
       SET user_id = %(to)s::bigint, latitude = NULL, longitude = NULL, device = '', app_version = ''
     WHERE user_id = %(user_id)s::bigint
       AND (brand_id = %(brand_id)s::bigint OR user_id = %(to)s::bigint)
    RETURNING scan_id
"""

# Scans are recorded with their place. Some from earlier releases still wait for theirs, and are taken in small
# portions; several workers take different ones.
UNLOCATED = """
    SELECT scan_id, latitude, longitude FROM authcodes_scan
     WHERE latitude IS NOT NULL AND located_at IS NULL
     ORDER BY scanned_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
"""
LOCATE = """
    WITH found AS (
        SELECT * FROM unnest(%(scan_ids)s::uuid[], %(labels)s::text[]) AS f (scan_id, label)
    ), located AS (
        UPDATE authcodes_scan s SET location = f.label, located_at = now()
          FROM found f WHERE s.scan_id = f.scan_id
        RETURNING s.auth_code_id, s.location, s.scan_count, s.outcome
    ), first AS (
        UPDATE authcodes_authcode c SET first_scan_location = l.location
          FROM located l WHERE c.id = l.auth_code_id AND l.outcome = 'success' AND l.scan_count = 1
        RETURNING c.id
    )
    SELECT count(*) FROM located
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scan happened: WGS 84 degrees, and city and region if the app knows them."""

    latitude: float | None = None
    longitude: float | None = None
    city: str = ""
    region: str = ""

    @classmethod
    def of(cls, location: dict[str, Any] | None) -> "Place":
        """The place in an event's or a request's `location`."""
        given = location or {}
        city, region = given.get("city") or "", given.get("region") or ""
        return cls(given.get("latitude"), given.get("longitude"), city, region)

    @property
    def label(self) -> str:
        """`City, Region`, as scans store it."""
        return ", ".join(part for part in (self.city, self.region) if part)[:LONGEST_LABEL]

    def named(self) -> "Place":
        """The same place with city and region, where only its degrees are known and a city is near."""
        if self.label or self.latitude is None or self.longitude is None:
            return self
        near = places.nearest(latitude=self.latitude, longitude=self.longitude)
        return replace(self, city=near.city, region=near.region) if near else self


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Who scans where, when and with what. `brand_id`: the brand whose app or key asks, None for anybody.

    `token`: the customer's own, where their request carried one.
    """

    at: datetime
    user_id: int | None = None
    brand_id: int | None = None
    place: Place = Place()
    device: str = ""
    app_version: str = ""
    token: Principal | None = None


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The answer to a scan. `points` is what it promises (or, for a guest, would); `facts` is None if unknown.

    With an `attempt_id` the answer is about an earlier scan of the customer's, and that is the id of the new one.
    """

    scan_id: uuid.UUID
    outcome: Scan.Outcome
    reason: Scan.Reason
    points_status: Scan.PointsStatus
    points: Decimal
    scan_count: int
    facts: CodeFacts | None
    attempt_id: uuid.UUID | None = None
    scanned_at: datetime | None = None

    @property
    def first_scan(self) -> bool:
        return self.outcome == Outcome.SUCCESS and self.scan_count == 1 and self.attempt_id is None


def scan(*, scanned: str, about: Circumstances, scan_id: uuid.UUID | None = None) -> ScanResult:
    """Judge a scan, record it with its true reason and, if it earns, publish its scan-auth event: one commit.

    `scan_id` given (from an Idempotency-Key): the same scan again gets the same answer; raises
    IdempotencyKeyReused if it was another scan's.
    """
    about = replace(about, place=about.place.named())
    if scan_id is None:
        return _scan(scanned, about, time_ordered_id())
    earlier = Scan.objects.filter(pk=scan_id).first()
    if earlier is None:
        try:
            with transaction.atomic():
                return _scan(scanned, about, scan_id)
        except IntegrityError:
            earlier = Scan.objects.filter(pk=scan_id).first()
            if earlier is None:  # not the scan, its event was taken: a sender used our source and this id
                raise IdempotencyKeyReused from None
    return replay(earlier, scanned, about)


def _scan(scanned: str, about: Circumstances, scan_id: uuid.UUID) -> ScanResult:
    for _try in range(TRIES):
        result = _look(scanned, about, scan_id)
        if result.attempt_id is not None:
            _ask_again(result, result.attempt_id, about, scanned)
            return result
        if result.outcome != Outcome.SUCCESS:
            _note_attempt(result, about, scanned)
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return result
        count = _accept(result, about, scanned)
        if count is not None:
            metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
            return replace(result, scan_count=count)
    raise ScanLimitReached


def preview(*, scanned: str, about: Circumstances) -> ScanResult:
    """The answer a scan would get now. Writes nothing; its scan_id names no scan."""
    return _look(scanned, about, time_ordered_id())


def _look(scanned: str, about: Circumstances, scan_id: uuid.UUID) -> ScanResult:
    reading = read(scanned)
    facts = _facts(reading.code if reading else None, about)
    reason = judge(facts=facts, reading=reading, about=about)
    result = promise(scan_id, facts, reason, about)
    return _standing(result, facts, about) or result if facts and reason == Reason.LIMIT_REACHED else result


def _standing(result: ScanResult, facts: CodeFacts, about: Circumstances) -> ScanResult | None:
    """The answer for a used-up code whose points a limit held back from this very customer: their scan stands."""
    if points_status(facts, Reason.ACCEPTED, about.user_id) not in EARNING:
        return None
    return _about_earlier(result, facts, about, points=worth_of(facts))


def _about_earlier(result: ScanResult, facts: CodeFacts, about: Circumstances, *, points: Decimal) -> ScanResult | None:
    """The same answer, about the customer's accepted scan that a limit held points back from; None without one."""
    asked = {"user_id": about.user_id, "code_id": facts.id, "earns": facts.earns}
    found = sql.row(STANDING, asked)
    if found is None or found[0] is None:
        return None
    return replace(
        result,
        scan_id=found[0],
        outcome=Outcome.SUCCESS,
        reason=Reason.ACCEPTED,
        points_status=PointsStatus.UNCONFIRMED if facts.unconfirmed else PointsStatus.PENDING,
        points=points,
        attempt_id=result.scan_id,
    )


def _facts(code: str | None, about: Circumstances) -> CodeFacts | None:
    """Raises TokenInvalid for a user who is not active: views leave the look at the user to this statement."""
    facts = code_facts.read(code=code, user_id=about.user_id, at=about.at, token=about.token) if code else None
    if about.user_id is not None and not (facts.user_active if facts else active_user(about.user_id, about.token)):
        raise TokenInvalid
    return facts


def judge(*, facts: CodeFacts | None, reading: Reading | None, about: Circumstances) -> Scan.Reason:
    """The checks of a scan, in their order; safety comes before everything that only concerns points."""
    if facts is None or reading is None:
        return Reason.UNKNOWN
    if not tag_fits(facts, reading):
        return Reason.BAD_TAG
    if about.brand_id is not None and facts.brand_id != about.brand_id:
        return Reason.OTHER_BRAND
    if facts.recall_id is not None:
        return Reason.RECALLED
    if facts.expired(about.at):
        return Reason.EXPIRED
    if facts.deactivated:
        return Reason.DEACTIVATED
    if facts.product_id is None:
        return Reason.UNASSIGNED
    if facts.limit_reached and not may_take_over(facts, about):
        return Reason.LIMIT_REACHED if facts.reservation_id is None else Reason.RESERVED
    if not facts.product_active:
        return Reason.PRODUCT_INACTIVE
    return Reason.ACCEPTED if facts.campaign_permits else Reason.CAMPAIGN_INACTIVE


def may_take_over(facts: CodeFacts, about: Circumstances) -> bool:
    """Whether the scan that reserves a used-up code gives way: to a customer at once, to a guest or a customer whose
    address the brand wants confirmed first when it has lapsed, and to the customer's own next one.

    So nobody keeps a customer from a code, and whoever scanned as a guest may as well scan again in the app.
    """
    if facts.reserved_until is None:
        return False
    if facts.reserved_until <= about.at:
        return True
    return about.user_id is not None and (not facts.unconfirmed or facts.reserved_for == about.user_id)


def tag_fits(facts: CodeFacts, reading: Reading) -> bool:
    """A signed batch's code needs its tag; an unsigned one has none."""
    return tags.fits(given=reading.tag, code=facts.code, batch_id=facts.batch_id, version=facts.tag_version)


OUTCOMES = {
    Reason.ACCEPTED: Outcome.SUCCESS,
    Reason.CAMPAIGN_INACTIVE: Outcome.SUCCESS,
    Reason.PRODUCT_INACTIVE: Outcome.SUCCESS,
    Reason.LIMIT_REACHED: Outcome.WARNING,
    Reason.RESERVED: Outcome.WARNING,
    Reason.RECALLED: Outcome.WARNING,
}


def promise(scan_id: uuid.UUID, facts: CodeFacts | None, reason: Scan.Reason, about: Circumstances) -> ScanResult:
    """The answer if the scan is recorded now: its outcome, what becomes of points, and how many."""
    outcome = OUTCOMES.get(reason, Outcome.ERROR)
    status = points_status(facts, reason, about.user_id)
    earns = facts is not None and status in {*EARNING, PointsStatus.GUEST}
    worth = worth_of(facts) if facts and earns else ZERO
    count = facts.scan_count if facts else 0
    return ScanResult(scan_id, outcome, reason, status, worth, count, facts, scanned_at=about.at)


def points_status(facts: CodeFacts | None, reason: Scan.Reason, user_id: int | None) -> Scan.PointsStatus:
    if facts is None or reason == Reason.BAD_TAG:
        return PointsStatus.NOT_ELIGIBLE
    if facts.already_claimed:
        return PointsStatus.ALREADY_CLAIMED
    if reason != Reason.ACCEPTED or not facts.loyalty_active:
        return PointsStatus.NOT_ELIGIBLE
    if user_id is None:
        return PointsStatus.GUEST
    if facts.member_status == UserPoints.Status.BLOCKED or (facts.account is None and not facts.auto_enroll):
        return PointsStatus.NOT_ELIGIBLE
    return PointsStatus.UNCONFIRMED if facts.unconfirmed else PointsStatus.PENDING


def public_status_fields(status: Scan.PointsStatus) -> dict[str, str]:
    """What becomes of a scan's points, as programs are told it: what waits for the customer is pending as well."""
    if status == PointsStatus.UNCONFIRMED:
        return {"points_status": PointsStatus.PENDING.value, "waits_for": "confirmed_email"}
    return {"points_status": status.value}


def worth_of(facts: CodeFacts) -> Decimal:
    return points.for_scan(
        redeem_point_value=facts.redeem_point_value,
        reward_type=facts.reward_type,
        reward_value=facts.reward_value,
        retail_price=facts.retail_price,
        ceiling=facts.max_points_per_scan,
    )


def _accept(result: ScanResult, about: Circumstances, scanned: str) -> int | None:
    """Take a slot, record the scan and publish its event, in one statement. None: the slot is gone."""
    messages = [_scan_event(result, about)] if result.points_status in EARNING else []
    messages += _announcement(result, about)
    assert result.facts is not None  # noqa: S101 - an accepted scan has a code
    parameters = _record(result, about, scanned)
    parameters |= events.insertion(messages=messages, brand_id=result.facts.brand_id, at=about.at)
    taken = sql.row(*_taking(result.facts, parameters))
    if taken is None:
        return None
    events.wake_after_commit(messages)
    count: int = taken[0]
    return count


def _taking(facts: CodeFacts, parameters: dict[str, object]) -> tuple[str, dict[str, object]]:
    if facts.limit_reached:
        return TAKE_OVER, {**parameters, "reservation_id": facts.reservation_id}
    return ACCEPT, parameters


def _note_attempt(result: ScanResult, about: Circumstances, scanned: str) -> None:
    """Record a scan that takes no slot; where a webhook listens its announcement is written beside it."""
    parameters = _record(result, about, scanned)
    messages = _announcement(result, about)
    if result.facts is None or not messages:
        sql.rows(ATTEMPT, parameters)
        return
    sql.rows(
        ATTEMPT_TOLD, parameters | events.insertion(messages=messages, brand_id=result.facts.brand_id, at=about.at)
    )
    events.wake_after_commit(messages)


def _ask_again(result: ScanResult, attempt_id: uuid.UUID, about: Circumstances, scanned: str) -> None:
    """Record the attempt as what it is; ask for the points of the scan that stands, unless they are on their way."""
    attempt = replace(
        result,
        scan_id=attempt_id,
        outcome=Outcome.WARNING,
        reason=Reason.LIMIT_REACHED,
        points_status=PointsStatus.LIMITED,
        attempt_id=None,
    )
    assert result.facts is not None  # noqa: S101 - a scan that stands has a code
    with transaction.atomic():
        _note_attempt(attempt, about, scanned)
        if sql.row(REOPEN, {"scan_id": result.scan_id}):
            rollups.unsettle(scan_id=result.scan_id)
            events.publish(messages=[_scan_event(attempt, about)], brand_id=result.facts.brand_id, at=about.at)
    metrics.scanned(outcome=attempt.outcome.value, reason=attempt.reason.value)


def _announcement(result: ScanResult, about: Circumstances) -> list[events.Message]:
    """code.scanned, for the brand whose code it is. Whose customer scanned it through another brand is not told."""
    facts = result.facts
    if facts is None or not facts.is_announced:
        return []
    data = {
        "scan_id": result.scan_id,
        "code": facts.code,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        **public_status_fields(result.points_status),
        "points_promised": plain(result.points),
        "batch_id": facts.batch_id,
        "product": facts.product(),
        "latitude": about.place.latitude,
        "longitude": about.place.longitude,
        "location": about.place.label or None,
    }
    message = webhooks.announcement(
        WebhookType.CODE_SCANNED,
        data,
        brand_id=facts.brand_id,
        user_id=None if result.reason == Reason.OTHER_BRAND else about.user_id,
        event_id=uuid.uuid5(result.scan_id, WebhookType.CODE_SCANNED.value),
        at=about.at,
    )
    return [message]


def _scan_event(result: ScanResult, about: Circumstances) -> events.Message:
    """scan-auth, spec section 6. Its id is the scan's, which is how the accrual finds the scan again."""
    facts = result.facts
    assert facts is not None  # noqa: S101 - an accepted scan has a code
    location = {"latitude": about.place.latitude, "longitude": about.place.longitude}
    product = {
        "productId": facts.product_id,
        "authCode": facts.code,
        "title": facts.title,
        "retailPrice": plain(facts.retail_price),
        "redeem_point_value": facts.redeem_point_value,
    }
    place = {**location, "city": about.place.city, "region": about.place.region}
    return events.Message(
        kind="scan-auth",
        event_id=result.scan_id,
        arguments={"brand_id": facts.brand_id, "user_id": about.user_id},
        payload={
            "type": Campaign.Type.SCAN.value,
            "product": {name: value for name, value in product.items() if value is not None},
            "location": {name: value for name, value in place.items() if value not in {None, ""}},
            "timestamp": events.iso(about.at),
        },
    )


def _record(result: ScanResult, about: Circumstances, scanned: str) -> dict[str, object]:
    facts = result.facts
    return {
        "scan_id": result.scan_id,
        "brand_id": facts.brand_id if facts else about.brand_id,
        "code_id": facts.id if facts else None,
        "code": facts.code if facts else scanned[:64],
        "user_id": about.user_id,
        "batch_id": facts.batch_id if facts else None,
        "product_id": facts.product_id if facts else None,
        "campaign_id": facts.campaign_id if facts else None,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        "scan_count": result.scan_count,
        "latitude": about.place.latitude,
        "longitude": about.place.longitude,
        "location": about.place.label,
        "device": about.device,
        "app_version": about.app_version,
        "at": about.at,
    }


def take_slot(*, facts: CodeFacts, about: Circumstances, scan_id: uuid.UUID) -> None:
    """Record an accepted scan that an accrual brings with it. Call inside the accrual's transaction, then `settle`.

    Raises ScanLimitReached when the code has no slot left.
    """
    result = ScanResult(scan_id, Outcome.SUCCESS, Reason.ACCEPTED, PointsStatus.PENDING, ZERO, facts.scan_count, facts)
    about = replace(about, place=about.place.named())
    parameters = _record(result, about, facts.code)
    messages = _announcement(result, about)
    parameters |= events.insertion(messages=messages, brand_id=facts.brand_id, at=about.at)
    if sql.row(*_taking(facts, parameters)) is None:
        raise ScanLimitReached
    metrics.scanned(outcome=result.outcome.value, reason=result.reason.value)
    events.wake_after_commit(messages)


def adopt(*, scan: Scan, user_id: int, at: datetime) -> None:
    """Make a guest's scan the scan of a customer of its brand, as if they had been logged in; the points follow.

    For GUEST_SCAN_MINUTES after it. The same customer may ask again. Raises ScanNotAdoptable, and TokenInvalid for a
    user who is not active.
    """
    if scan.user_id == user_id:
        return
    if scan.scanned_at < at - timedelta(minutes=settings.GUEST_SCAN_MINUTES):
        raise ScanNotAdoptable
    place = Place(scan.latitude, scan.longitude)
    about = Circumstances(at=scan.scanned_at, user_id=user_id, brand_id=scan.brand_id, place=place)
    facts = _facts(scan.code, about)
    if facts is None or scan.user_id is not None or scan.points_status != PointsStatus.GUEST:
        raise ScanNotAdoptable
    reason = Reason.RECALLED if facts.recall_id else Reason(scan.reason)
    result = replace(promise(scan.scan_id, facts, reason, about), outcome=Outcome.SUCCESS, scan_count=scan.scan_count)
    messages = [_scan_event(result, about)] if result.points_status in EARNING else []
    parameters = {
        "scan_id": scan.scan_id,
        "user_id": user_id,
        "points_status": result.points_status.value,
        "unconfirmed": result.points_status == PointsStatus.UNCONFIRMED,
        "points_promised": result.points,
        **events.insertion(messages=messages, brand_id=facts.brand_id, at=about.at),
    }
    try:
        with transaction.atomic():
            adopted = sql.row(ADOPT, parameters)
            events.wake_after_commit(messages)
    except IntegrityError:  # a sender used our source and this scan's id
        raise ScanNotAdoptable from None
    if adopted is None and not Scan.objects.filter(pk=scan.pk, user_id=user_id).exists():
        raise ScanNotAdoptable


def keep_reservation(*, scan_id: uuid.UUID) -> None:
    """Make an unconfirmed customer's scan one that is about to earn. Call inside the accrual's transaction.

    Raises TryLater where it was taken over, or has earned, since the facts were read: they are read again.
    """
    if sql.row(KEEP_RESERVATION, {"scan_id": scan_id}) is None:
        raise events.TryLater("The scan has changed.", after=timedelta(0))
    rollups.unsettle(scan_id=scan_id)


def place(*, scan: Scan, latitude: float, longitude: float) -> None:
    """Note where a scan happened, if that is not known yet."""
    found = Place(latitude, longitude).named()
    parameters = {"scan_id": scan.scan_id, "latitude": latitude, "longitude": longitude, "location": found.label}
    sql.rows(PLACE, parameters)


def forget(*, user_id: int, brand_id: int, to: int) -> None:
    """For the erasure of a person's data: their scans are the pseudonym's, and tell no more than the city."""
    sql.rows(FORGET, {"user_id": user_id, "brand_id": brand_id, "to": to})


def settle(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal = ZERO) -> None:
    """Write what became of a scan's points. Call inside the transaction that decides it."""
    sql.rows(SETTLE, {"scan_id": scan_id, "points_status": status.value, "points_awarded": awarded})


def settlement(*, scan_id: uuid.UUID, status: Scan.PointsStatus, awarded: Decimal) -> sql.Fragment:
    """The same, as a part of the statement that credits them."""
    written = {"scan_id": str(scan_id), "points_status": status.value, "points_awarded": str(awarded)}
    return sql.Fragment(SETTLE_BESIDE, written)


def replay(earlier: Scan, scanned: str, about: Circumstances) -> ScanResult:
    """The answer that `earlier` got. Raises IdempotencyKeyReused if this is not the same scan.

    A repeat may leave out where it was: the place may have been told after the scan.
    """
    reading = read(scanned)
    places = {(None, None), (earlier.latitude, earlier.longitude)}
    same = (
        earlier.code == (reading.code if reading and earlier.auth_code_id else scanned[:64])
        and earlier.user_id == about.user_id
        and (about.place.latitude, about.place.longitude) in places
    )
    if not same:
        raise IdempotencyKeyReused
    facts = _facts(earlier.code if earlier.auth_code_id else None, about)
    status = _status_again(earlier, facts)
    answered = ScanResult(
        scan_id=earlier.scan_id,
        outcome=Outcome(earlier.outcome),
        reason=Reason(earlier.reason),
        points_status=status,
        points=earlier.points_promised,
        scan_count=earlier.scan_count,
        facts=facts,
        scanned_at=earlier.scanned_at,
    )
    held_back = (answered.reason, earlier.points_status) == (Reason.LIMIT_REACHED, PointsStatus.LIMITED)
    if facts is None or not held_back:
        return answered
    return _about_earlier(answered, facts, about, points=earlier.points_promised) or answered


def _status_again(earlier: Scan, facts: CodeFacts | None) -> Scan.PointsStatus:
    """What the answer to a scan said becomes of its points; and no more that they wait for what has come about."""
    status = PointsStatus(earlier.points_status)
    if earlier.user_id is None or not earlier.points_promised or status == PointsStatus.LAPSED:
        return status
    waits = status == PointsStatus.UNCONFIRMED and facts is not None and facts.unconfirmed
    return PointsStatus.UNCONFIRMED if waits else PointsStatus.PENDING


def locate_pending(*, limit: int) -> int:
    """Name city and region of up to `limit` scans of earlier releases that have only coordinates; returns how many."""
    with transaction.atomic():
        found = sql.rows(UNLOCATED, {"limit": limit})
        if not found:
            return 0
        labels = [Place(latitude, longitude).named().label for _scan_id, latitude, longitude in found]
        sql.rows(LOCATE, {"scan_ids": [scan_id for scan_id, *_place in found], "labels": labels})
    return len(found)


def time_ordered_id() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): new scans go to the end of the index instead of all over it."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    number = number & ~(0xF << 76) | (0x7 << 76)
    return uuid.UUID(int=number & ~(0x3 << 62) | (0x2 << 62))
