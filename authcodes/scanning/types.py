"""The values of scanning: where a scan happens, who scans, and the result."""

import json
import uuid
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from authcodes.models.scans import Scan
from authcodes.places import geocoder
from brands.identity.tokens import Principal
from campaigns.accrual.trial import MemberState
from core import languages
from core.translations import text_of


@dataclass(frozen=True, slots=True)
class CodeSnapshot:
    """A code at one moment, with its batch, product, brand, recall and the customer's account.

    `slots_used`: its accepted scans without those that were returned. `reservation_id`: for a used-up code, the
    unclaimed scan of a guest or an unconfirmed customer (`reserved_for`), made at `reserved_at`.
    `accepted_scan_reserves`: the accepted scan still waits for its customer's confirmed address. `user_active` is also
    true without a user, and false if their token has ended. `unconfirmed`: the brand requires a confirmed e-mail
    address, and the customer's is not. `is_published`: a webhook of the brand subscribes to scans. `item`: the index of
    the lookup, if several are read at once.
    """

    id: int
    code: str
    brand_id: int
    batch_id: int
    product_id: int | None
    deactivated: bool
    scan_count: int
    slots_used: int
    reservation_id: UUID | None
    reserved_at: datetime | None
    reserved_for: int | None
    first_scan_at: datetime | None
    first_scan_location: str
    redeem_point_value: int | None
    scan_limit: int | None
    expiration_date: date | None
    tag_version: int | None
    campaign_id: int | None
    campaign_permits: bool
    product_active: bool | None
    time_zone: str
    loyalty_active: bool
    auto_enroll: bool
    max_points_per_scan: int
    is_sandbox: bool
    sku: str | None
    title: str | None
    product_texts: str | None  # the title in other languages, as JSON
    category: str | None
    tags: list[str] | None
    retail_price: Decimal | None
    picture_id: UUID | None
    recall_id: str | None
    recall_contact: str | None
    recall_message: str | None
    recall_texts: str | None  # the message in other languages, as JSON
    account: int | None
    member_status: str
    reward_type: str | None
    reward_value: Decimal | None
    already_claimed: bool
    accepted_scan_id: UUID | None
    accepted_scan_reserves: bool
    user_active: bool
    unconfirmed: bool
    is_published: bool
    rules_version: int | None  # of the brand's earning rules, for a customer
    member_state: MemberState | None  # what those rules need to know of the customer
    language: str | None = None  # the customer's own, else the brand's
    item: int = 0

    def expired(self, at: datetime) -> bool:
        """Whether the last day has ended in the brand's time zone."""
        return (
            self.expiration_date is not None and at.astimezone(ZoneInfo(self.time_zone)).date() > self.expiration_date
        )

    @property
    def earns(self) -> bool:
        """Whether new scans of the code earn points, as far as its product and campaign decide."""
        return bool(self.product_active) and self.campaign_permits

    @property
    def limit_reached(self) -> bool:
        return self.scan_limit is not None and self.slots_used >= self.scan_limit

    @property
    def reserved_until(self) -> datetime | None:
        """Until when a guest or an unconfirmed customer can claim their scan, which uses up the code."""
        return self.reserved_at + timedelta(minutes=settings.GUEST_SCAN_MINUTES) if self.reserved_at else None

    def product_in_language(self) -> dict[str, Any] | None:
        """The product as in spec 4.6, in the language of the response."""
        product = self.product()
        if product and self.title and self.product_texts and self.product_texts != "{}":
            texts = json.loads(self.product_texts)
            product["name"] = text_of(texts, "title", self.title, languages.decide())
        return product

    def product(self) -> dict[str, Any] | None:
        """The product as in spec 4.6, in the brand's own wording."""
        if self.product_id is None:
            return None
        picture = {"picture": f"/pictures/{self.picture_id}/small"} if self.picture_id else {}
        return {"id": str(self.product_id), "name": self.title, "sku": self.sku, **picture}

    def recall(self) -> dict[str, Any]:
        """The recall for customers, in the language of the response."""
        message = self.recall_message or ""
        if self.recall_texts and self.recall_texts != "{}":
            message = text_of(json.loads(self.recall_texts), "message", message, languages.decide())
        return {"id": self.recall_id, "contact": self.recall_contact, "message": message}


ZERO = Decimal(0)
MAX_LABEL_LENGTH = 200
Outcome, Reason, PointsStatus = Scan.Outcome, Scan.Reason, Scan.PointsStatus
# A customer's scan whose points are requested.
EARNING = {PointsStatus.PENDING, PointsStatus.UNCONFIRMED}
PUBLIC_STATUSES = [status.value for status in PointsStatus if status != PointsStatus.UNCONFIRMED]


@dataclass(frozen=True, slots=True)
class ScanLocation:
    """Where a scan happened: WGS 84 degrees, and city and region if the app provides them."""

    latitude: float | None = None
    longitude: float | None = None
    city: str = ""
    region: str = ""

    @classmethod
    def of(cls, location: dict[str, Any] | None) -> "ScanLocation":
        """The place in the `location` of an event or a request."""
        position = location or {}
        city, region = position.get("city") or "", position.get("region") or ""
        return cls(position.get("latitude"), position.get("longitude"), city, region)

    @classmethod
    def of_scan(cls, scan: Scan) -> "ScanLocation":
        """The place of a recorded scan, which has only the label of city and region."""
        named = cls(scan.latitude, scan.longitude).named()
        if named.label == scan.location:
            return named
        city, _comma, region = scan.location.partition(", ")  # as a hub named it
        return replace(named, city=city, region=region)

    @property
    def label(self) -> str:
        """`City, Region`, as stored in scans."""
        return ", ".join(part for part in (self.city, self.region) if part)[:MAX_LABEL_LENGTH]

    def named(self) -> "ScanLocation":
        """The same place with city and region added, if only its coordinates are known and a city is near."""
        if self.label or self.latitude is None or self.longitude is None:
            return self
        near = geocoder.nearest(latitude=self.latitude, longitude=self.longitude)
        return replace(self, city=near.city, region=near.region) if near else self


@dataclass(frozen=True, slots=True)
class ScanContext:
    """Who scans where, when and with what. `brand_id`: the brand of the app or key, None without one.

    `token`: the customer's own, if the request had one.
    """

    at: datetime
    user_id: int | None = None
    brand_id: int | None = None
    place: ScanLocation = ScanLocation()
    device: str = ""
    app_version: str = ""
    token: Principal | None = None


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The result of a scan. `points`: what it promises, or would promise a guest. `snapshot`: None for an unknown code.

    With an `attempt_id`, the result is about an earlier scan of the customer; that is the id of the new attempt.
    """

    scan_id: uuid.UUID
    outcome: Scan.Outcome
    reason: Scan.Reason
    points_status: Scan.PointsStatus
    points: Decimal
    scan_count: int
    snapshot: CodeSnapshot | None
    attempt_id: uuid.UUID | None = None
    scanned_at: datetime | None = None

    @property
    def first_scan(self) -> bool:
        return self.outcome == Outcome.SUCCESS and self.scan_count == 1 and self.attempt_id is None


def public_status_fields(status: Scan.PointsStatus) -> dict[str, str]:
    """The points status for the API: points that wait for the customer are pending too."""
    if status == PointsStatus.UNCONFIRMED:
        return {"points_status": PointsStatus.PENDING.value, "waits_for": "confirmed_email"}
    return {"points_status": status.value}


@dataclass(frozen=True, slots=True)
class CodePreview:
    """The content of a lookup. An invalid code reveals no more than one that does not exist."""

    result: ScanResult

    @property
    def snapshot(self) -> CodeSnapshot | None:
        return self.result.snapshot if self.result.outcome != Outcome.ERROR else None

    @property
    def is_test(self) -> bool | None:
        """True for a sandbox's code, which says nothing about a product; otherwise None."""
        return True if self.snapshot and self.snapshot.is_sandbox else None

    @property
    def valid(self) -> bool:
        return self.result.outcome == Outcome.SUCCESS

    @property
    def product(self) -> dict[str, Any] | None:
        return self.snapshot.product_in_language() if self.snapshot else None

    @property
    def points_awarded(self) -> Decimal:
        """The points that a scan would earn now; zero for a guest."""
        return ZERO if self.result.points_status == PointsStatus.GUEST else self.result.points

    @property
    def points_available(self) -> Decimal | None:
        """The points that a guest would earn by logging in."""
        return self.result.points if self.result.points_status == PointsStatus.GUEST else None

    @property
    def scan_count(self) -> int:
        return self.snapshot.scan_count if self.snapshot else 0

    @property
    def first_scan(self) -> bool:
        return self.snapshot is not None and self.snapshot.scan_count == 0

    @property
    def reason(self) -> Scan.Reason | None:
        return self.result.reason if self.snapshot else None

    @property
    def points_status(self) -> Scan.PointsStatus:
        return self.result.points_status if self.snapshot else PointsStatus.NOT_ELIGIBLE

    @property
    def recall(self) -> dict[str, Any] | None:
        """The recall for customers, if the product is recalled."""
        return self.snapshot.recall() if self.snapshot and self.result.reason == Reason.RECALLED else None
