"""Everything one scan needs to know about a code and its customer, read in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from authcodes.scanning.types import CodeSnapshot, ScanContext
from brands.identity import tokens
from brands.identity.authentication import active_user
from core.db import sql
from core.errors import TokenInvalid
from core.json_values import ENCODER
from loyalty.integrations.webhook_events import SUBSCRIBED_TYPES

# Codes sort by bytes, reasons do not: without its COLLATE the look at the ledger would read all of an account's lines.
# The level is the customer's current one, else the brand's lowest. A brand without levels leaves it null.
STATEMENT = """
    SELECT c.id, c.code, c.brand_id, c.batch_id, c.product_id, c.deactivated_at IS NOT NULL, c.scan_count,
           c.scan_count - c.slots_given_back, h.scan_id, h.scanned_at, h.user_id,
           c.first_scan_at, c.first_scan_location,
           COALESCE(c.points_per_scan, b.points_per_scan, p.redeem_point_value),
           b.scan_limit, b.expiration_date, b.tag_version, b.campaign_id, {campaign_permits}, p.is_active,
           n.time_zone, n.loyalty_active, n.auto_enroll, n.max_points_per_scan,
           p.sku, p.title, p.retail_price, p.picture_id,
           r.recall_id, r.contact, r.message,
           m.user_point_id, COALESCE(m.status, ''), l.scan_reward_type, l.scan_reward_value,
           (SELECT true FROM loyalty_transaction t
             WHERE t.user_point_id = m.user_point_id AND t.reason_id = c.code COLLATE "default" LIMIT 1) IS NOT NULL,
           w.scan_id, COALESCE(w.reserves, false),
           u.id IS NOT NULL OR {user_id} IS NULL,
           n.requires_confirmed_email AND u.id IS NOT NULL AND u.email_verified_at IS NULL,
           'code.scanned' = ANY ({listened})
      FROM authcodes_authcode c
      JOIN authcodes_batchrange b ON b.id = c.batch_id
      JOIN brands_brand n ON n.id = c.brand_id
      LEFT JOIN authcodes_product p ON p.id = c.product_id
      LEFT JOIN authcodes_recall r ON r.batch_id = b.id
      LEFT JOIN campaigns_campaign g ON g.campaign_id = b.campaign_id
      LEFT JOIN brands_user u ON u.id = {user_id} AND u.is_active AND {stands}
      LEFT JOIN user_points m ON m.brand_id = c.brand_id AND m.user_id = {user_id}
      LEFT JOIN LATERAL (
           SELECT v.scan_reward_type, v.scan_reward_value FROM loyalty_brandlevel v
            WHERE v.brand_id = c.brand_id ORDER BY v.name = m.current_level DESC NULLS LAST, v.threshold LIMIT 1
           ) l ON true
      LEFT JOIN LATERAL ({reservation}) h ON true
      LEFT JOIN LATERAL (
           SELECT s.scan_id, s.points_status = 'unconfirmed' AS reserves FROM authcodes_scan s
            WHERE {scan_id} IS NOT NULL AND s.user_id = {user_id} AND s.auth_code_id = c.id AND s.outcome = 'success'
              AND s.points_status <> 'lapsed' AND (s.reason = 'accepted' OR (p.is_active AND {campaign_permits}))
            ORDER BY s.scan_id = {scan_id} DESC, s.scanned_at LIMIT 1
           ) w ON true
     WHERE c.code = {code}
"""
# A batch says whether its codes earn while their campaign is not running.
CAMPAIGN_PERMITS = """(
           g.campaign_id IS NULL OR b.after_campaign = 'points' OR (
               g.is_active
               AND (g.starts_at IS NULL OR g.starts_at <= {at})
               AND (g.ends_at IS NULL OR g.ends_at > {at})))"""
# Of a used-up code the customer's own scan that waits for their confirmed address, else the oldest scan of a guest or
# an unconfirmed customer that nobody has claimed yet.
RESERVATION = """
           SELECT s.scan_id, s.scanned_at, s.user_id FROM authcodes_scan s
            WHERE c.scan_count - c.slots_given_back >= b.scan_limit AND s.auth_code_id = c.id
              AND s.outcome = 'success' AND (s.user_id IS NULL OR s.unconfirmed)
              AND s.points_status IN ('guest', 'unconfirmed')
            ORDER BY COALESCE(s.user_id = %(user_id)s::bigint, false) DESC, s.scanned_at LIMIT 1
"""
# An accrual's scan has its slot.
NO_RESERVATION = "SELECT NULL::uuid AS scan_id, NULL::timestamptz AS scanned_at, NULL::bigint AS user_id"
LISTENED_HERE = SUBSCRIBED_TYPES.format(brand="c.brand_id")
FACTS = STATEMENT.format(
    code="%(code)s::text",
    at="%(at)s::timestamptz",
    scan_id="%(scan_id)s::uuid",
    user_id="%(user_id)s::bigint",
    stands=tokens.STANDS.format(**tokens.PLACES),
    listened=LISTENED_HERE,
    reservation=RESERVATION,
    campaign_permits=CAMPAIGN_PERMITS.format(at="%(at)s::timestamptz"),
)
EACH = STATEMENT.format(
    code='a.code COLLATE "C"',
    at="a.at",
    scan_id="a.scan_id",
    user_id="a.user_id",
    stands="true",
    listened=LISTENED_HERE,
    reservation=NO_RESERVATION,
    campaign_permits=CAMPAIGN_PERMITS.format(at="a.at"),
)

# Of many scans at once each is a row `a`. PostgreSQL, whose counts of rows are always a little old, is left no choice
# between looking each up in the indexes and reading whole tables: that is what the LIMITs here and above are for.
MOST = 100
FACTS_TOGETHER = f"""
    WITH asked AS (
        SELECT * FROM jsonb_to_recordset(%(asked)s::jsonb)
               AS a (item int, code text, user_id bigint, at timestamptz, scan_id uuid)
         LIMIT {MOST})
    SELECT a.item, found.*
      FROM asked a
     CROSS JOIN LATERAL (
        {EACH}
         LIMIT 1) AS found
"""  # noqa: S608 - built from constants


def read(
    *,
    code: str,
    user_id: int | None,
    at: datetime,
    scan_id: UUID | None = None,
    token: tokens.Principal | None = None,
) -> CodeSnapshot | None:
    """The facts, or None where there is no such code. One index lookup per table.

    `token`: what the customer's own request carried. Given a `scan_id`, `accepted_scan_id` is that scan or else the
    customer's first accepted scan of the code.
    """
    found = sql.row(FACTS, {"code": code, "user_id": user_id, "at": at, "scan_id": scan_id, **tokens.parameters(token)})
    return CodeSnapshot(*found) if found else None


@dataclass(frozen=True, slots=True)
class ScanLookup:
    """Of which code, for whom, and which scan: see `read`."""

    code: str
    user_id: int
    at: datetime
    scan_id: UUID


def fetch_many(asked: Sequence[ScanLookup]) -> list[CodeSnapshot | None]:
    """As read, for at most MOST scans."""
    rows = [
        {
            "item": item,
            "code": each.code,
            "user_id": each.user_id,
            "at": each.at.isoformat(),
            "scan_id": str(each.scan_id),
        }
        for item, each in enumerate(asked)
    ]
    found: list[CodeSnapshot | None] = [None] * len(rows)
    for item, *columns in sql.rows(FACTS_TOGETHER, {"asked": ENCODER.encode(rows)}):
        found[item] = CodeSnapshot(*columns)
    return found


def facts_of(code: str | None, about: ScanContext) -> CodeSnapshot | None:
    """Raises TokenInvalid for a user who is not active: views leave the look at the user to this statement."""
    facts = read(code=code, user_id=about.user_id, at=about.at, token=about.token) if code else None
    if about.user_id is not None and not (facts.user_active if facts else active_user(about.user_id, about.token)):
        raise TokenInvalid
    return facts
