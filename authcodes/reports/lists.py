"""The content of each exported list: a report for each kind of job.

Texts are as stored, times in the brand's zone. Reports contain no secrets, such as the code of a redemption.
"""

from django.db.models import Case, F, Model, TextField, Value, When
from django.db.models.functions import Cast, Coalesce

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from authcodes.reports.columns import SCANS, UNSCANNED
from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from core.spreadsheets.report import Column, Report
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.referrals import Referral
from loyalty.models.rewards import Redemption

TEXT, MOMENT, DAY, NUMBER = Column.TEXT, Column.MOMENT, Column.DAY, Column.NUMBER


def yes_or_no(field: str) -> Case:
    return Case(When(**{field: True}, then=Value("yes")), default=Value("no"))


CODES = Report(
    "codes",
    {
        **UNSCANNED.columns,
        "batch": (TEXT, F("batch__range_name")),
        "scan_count": (NUMBER, F("scan_count")),
        "first_scan_date": (MOMENT, F("first_scan_at")),
        "first_scan_location": (TEXT, F("first_scan_location")),
        "inventory_location": (TEXT, F("inventory_location")),
        "location": (TEXT, F("location")),
    },
)
BATCHES = Report(
    "batches",
    {
        "batch": (TEXT, F("range_name")),
        "product": (TEXT, F("product__title")),
        "campaign": (TEXT, F("campaign__campaign_name")),
        "first_code": (TEXT, F("first_code")),
        "last_code": (TEXT, F("last_code")),
        "quantity": (NUMBER, F("quantity")),
        "codes_generated": (NUMBER, F("generated_count")),
        "recalled": (TEXT, Case(When(recall__isnull=False, then=Value("yes")), default=Value("no"))),
        "points_per_scan": (NUMBER, F("points_per_scan")),
        "scan_limit": (NUMBER, F("scan_limit")),
        "expiration_date": (DAY, F("expiration_date")),
        "created_date": (MOMENT, F("created_at")),
    },
)
PRODUCTS = Report(
    "products",
    {
        "sku": (TEXT, F("sku")),
        "title": (TEXT, F("title")),
        "gtin": (TEXT, F("gtin")),
        "retail_price": (NUMBER, F("retail_price")),
        "points_per_scan": (NUMBER, F("redeem_point_value")),
        "active": (TEXT, yes_or_no("is_active")),
    },
)
MEMBERS = Report(
    "members",
    {
        "customer_email": (TEXT, F("user__email")),
        "first_name": (TEXT, Coalesce("first_name", "user__first_name")),
        "last_name": (TEXT, Coalesce("last_name", "user__last_name")),
        "status": (TEXT, F("status")),
        "level": (TEXT, F("current_level")),
        "points": (NUMBER, F("points")),
        "points_earned": (NUMBER, F("points_earned")),
        "points_redeemed": (NUMBER, F("points_redeemed")),
        "points_expired": (NUMBER, F("points_expired")),
        "points_reversed": (NUMBER, F("points_reversed")),
        "points_pending": (NUMBER, F("points_pending")),
        "points_owed": (NUMBER, F("points_owed")),
        "enrolled_date": (MOMENT, F("enrolled_at")),
    },
)
LEDGER = Report(
    "transactions",
    {
        "transaction_date": (MOMENT, F("created_at")),
        "customer_email": (TEXT, F("user_point__user__email")),
        "reason": (TEXT, F("reason")),
        "points": (NUMBER, F("points_earned") - F("points_redeemed") - F("points_expired") - F("points_reversed")),
        "reason_id": (TEXT, F("reason_id")),
        "note": (TEXT, F("note")),
    },
)
REDEMPTIONS = Report(
    "redemptions",
    {
        "redemption_date": (MOMENT, F("created_at")),
        "customer_email": (TEXT, F("user_point__user__email")),
        "reward": (TEXT, F("name")),
        "cost": (NUMBER, F("cost")),
        "status": (TEXT, F("status")),
        "expires_date": (MOMENT, F("expires_at")),
        "used_date": (MOMENT, F("used_at")),
        "cancelled_date": (MOMENT, F("cancelled_at")),
    },
)
REFERRALS = Report(
    "referrals",
    {
        "joined_date": (MOMENT, F("created_at")),
        "member_email": (TEXT, F("referrer__user__email")),
        "friend_email": (TEXT, F("friend__user__email")),
        "state": (TEXT, F("state")),
        "why": (TEXT, F("why")),
        "member_points": (NUMBER, F("referrer_points")),
        "friend_points": (NUMBER, F("friend_points")),
        "first_action": (TEXT, F("action")),
        "rewarded_date": (MOMENT, F("rewarded_at")),
        "decided_date": (MOMENT, F("decided_at")),
    },
)
CLAIMS = Report(
    "reward-claims",
    {
        "customer_email": (TEXT, F("user__email")),
        "reward": (TEXT, F("milestone__reward_name")),
        "campaign": (TEXT, F("milestone__campaign__campaign_name")),
        "status": (TEXT, F("status")),
        "created_date": (MOMENT, F("created_at")),
        "claimed_date": (MOMENT, F("claimed_at")),
    },
)
PROGRESS = Report(
    "campaign-progress",
    {
        "customer_email": (TEXT, F("user__email")),
        "campaign": (TEXT, F("campaign__campaign_name")),
        "progress": (NUMBER, F("progress")),
        "target": (NUMBER, F("campaign__target_value")),
        "started_date": (MOMENT, F("created_at")),
        "updated_date": (MOMENT, F("updated_at")),
    },
)
AUDIT = Report(
    "audit-trail",
    {
        "entry_date": (MOMENT, F("at")),
        "person": (TEXT, Coalesce(F("user__email"), F("api_key__prefix"))),
        "action": (TEXT, F("action")),
        "kind": (TEXT, F("kind")),
        "row_id": (TEXT, F("row_id")),
        "row_name": (TEXT, F("row_name")),
        "reason": (TEXT, F("reason")),
        "changes": (TEXT, Cast("changes", TextField())),
        "request_id": (TEXT, F("request_id")),
    },
)

REPORTS: dict[str, tuple[type[Model], Report]] = {
    "export-scans": (Scan, SCANS),
    "export-unscanned": (AuthCode, UNSCANNED),
    "export-codes": (AuthCode, CODES),
    "export-batches": (BatchRange, BATCHES),
    "export-products": (Product, PRODUCTS),
    "export-members": (UserPoints, MEMBERS),
    "export-ledger": (LoyaltyTransaction, LEDGER),
    "export-redemptions": (Redemption, REDEMPTIONS),
    "export-referrals": (Referral, REFERRALS),
    "export-claims": (RewardClaim, CLAIMS),
    "export-progress": (UserLoyaltyCampaign, PROGRESS),
    "export-audit": (AuditLogEntry, AUDIT),
}
