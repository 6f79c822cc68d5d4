"""Everything that a scan needs to know about a code and its customer, read in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from authcodes.scanning.types import CodeSnapshot, ScanContext
from brands import scanned as scan_input
from brands.identity import tokens
from brands.identity.authentication import active_user
from brands.scanned import MAX_INPUT_LENGTH, ParsedCode
from core.db.statements import part, query, query_values
from core.errors import TokenInvalid
from core.json_values import ENCODER
from loyalty.integrations.webhook_events import SUBSCRIBED_TYPES

# At most this many in one statement, as its own LIMIT says.
MAX_LOOKUPS = 100


def _code_snapshot(*, at: str, **places: str) -> str:
    """The SELECT of one code, with placeholders for the scan's values."""
    return part(
        "authcodes/scanning/sql/code_snapshot.sql",
        campaign_permits=part("authcodes/scanning/sql/campaign_permits.sql", at=at),
        listened=SUBSCRIBED_TYPES.format(brand="c.brand_id"),
        **places,
    )


FETCH_CODE = query(
    "authcodes/scanning/sql/fetch_code.sql",
    returns=CodeSnapshot,
    code_snapshot=_code_snapshot(
        code="%(code)s::text",
        at="%(at)s::timestamptz",
        scan_id="%(scan_id)s::uuid",
        user_id="%(user_id)s::bigint",
        stands=tokens.STANDS.format(**tokens.PLACES),
        member_state=part("authcodes/scanning/sql/member_state.sql"),
        reservation=part("authcodes/scanning/sql/reservation.sql"),
        language=part("authcodes/scanning/sql/customer_language.sql", user_id="%(user_id)s::bigint"),
    ),
)
FETCH_CODE_OF_PAYLOAD = query_values("authcodes/scanning/sql/fetch_code_of_payload.sql", "code")
FETCH_CODES = query(
    "authcodes/scanning/sql/fetch_codes.sql",
    returns=CodeSnapshot,
    code_snapshot=_code_snapshot(
        code='a.code COLLATE "C"',
        at="a.at",
        scan_id="a.scan_id",
        user_id="a.user_id",
        stands="true",
        member_state="NULL::json",  # accruals read it themselves
        reservation=part("authcodes/scanning/sql/no_reservation.sql"),
        language="NULL::text",  # the response of an accrual is not shown to anyone
    ),
)


@dataclass(slots=True)
class PastCode:
    """A code for past scans: a row of fetch_past_codes.sql, with the fields of CodeSnapshot."""

    code: str
    batch_id: int
    product_id: int | None
    campaign_id: int | None
    redeem_point_value: int | None
    sku: str | None
    category: str | None
    tags: list[str] | None
    retail_price: Decimal | None


FETCH_PAST_CODES = query("authcodes/scanning/sql/fetch_past_codes.sql", returns=PastCode)


def read(
    *,
    code: str,
    user_id: int | None,
    at: datetime,
    scan_id: UUID | None = None,
    token: tokens.Principal | None = None,
) -> CodeSnapshot | None:
    """The snapshot, or None if there is no such code. One index lookup per table.

    `token`: from the customer's own request. With a `scan_id`, `accepted_scan_id` is that scan, else the customer's
    first accepted scan of the code.
    """
    return FETCH_CODE.first(code=code, user_id=user_id, at=at, scan_id=scan_id, **tokens.parameters(token))


@dataclass(frozen=True, slots=True)
class ScanLookup:
    """The code, customer and scan of a lookup: see `read`."""

    code: str
    user_id: int
    at: datetime
    scan_id: UUID


def fetch_many(lookups: Sequence[ScanLookup]) -> list[CodeSnapshot | None]:
    """Like `read`, for at most MAX_LOOKUPS scans."""
    rows = [
        {
            "item": item,
            "code": each.code,
            "user_id": each.user_id,
            "at": each.at.isoformat(),
            "scan_id": str(each.scan_id),
        }
        for item, each in enumerate(lookups)
    ]
    snapshots: list[CodeSnapshot | None] = [None] * len(rows)
    for row in FETCH_CODES.all(lookups=ENCODER.encode(rows)):
        snapshots[row.item] = row
    return snapshots


def code_of_payload(scanned: str) -> str | None:
    """The code that another company printed with exactly this text."""
    text = scanned.strip()
    if not text or len(text) > MAX_INPUT_LENGTH or not text.isprintable():
        return None
    return FETCH_CODE_OF_PAYLOAD.first(payload=text)


def find(scanned: str, context: ScanContext) -> tuple[ParsedCode | None, CodeSnapshot | None]:
    """The parsed code and its snapshot. Text without one of our codes is looked up as a payload.

    Raises TokenInvalid like snapshot_of.
    """
    reading = scan_input.read(scanned)
    snapshot = snapshot_of(reading.code, context) if reading else None
    if snapshot is None and (code := code_of_payload(scanned)):
        return ParsedCode(code, ""), snapshot_of(code, context)
    return reading, snapshot if reading else snapshot_of(None, context)


def snapshot_of(code: str | None, context: ScanContext) -> CodeSnapshot | None:
    """Raises TokenInvalid for an inactive user: views rely on this statement for that check."""
    snapshot = read(code=code, user_id=context.user_id, at=context.at, token=context.token) if code else None
    if context.user_id is not None and not (
        snapshot.user_active if snapshot else active_user(context.user_id, context.token)
    ):
        raise TokenInvalid
    return snapshot
