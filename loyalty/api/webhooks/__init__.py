"""Webhook events about points, rewards, members and jobs, as the API describes them."""

from core.api.openapi.shared_examples import WHEN
from core.api.openapi.webhooks import webhook
from loyalty.api.webhooks.bodies import (
    JobFinishedData,
    LevelEndedData,
    LevelReachedData,
    MemberChangedData,
    MemberEnrolledData,
    MemberEventData,
    MemberMergedData,
    PointsAdjustedData,
    PointsEarnedData,
    PointsExpiredData,
    PointsPendingData,
    PointsReleasedData,
    PointsReturnedData,
    PointsReversedData,
    PointsTransferredData,
    RewardChangedData,
    RewardUsedData,
    WebhookTestData,
)

LEVEL = {"current_level": "Silver", "lifetime_points": 520}
REDEEMED = {"user_id": 42, "redemption_id": 733, "reward_id": 12, "points": 200}

POINTS_EARNED = webhook(
    "points.earned",
    "Points were credited",
    PointsEarnedData,
    {
        "user_id": 42,
        "points_earned": 10,
        "new_balance": 330,
        "transaction_id": "90211",
        "reason_ids": ["ALP0000004711"],
        "note": "Alpine Jacket",
        **LEVEL,
        "cause": "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42",
    },
)
POINTS_ADJUSTED = webhook(
    "points.adjusted",
    "Staff or the brand's systems added or deducted points by hand",
    PointsAdjustedData,
    {
        "user_id": 42,
        "points_adjusted": -50,
        "new_balance": 280,
        "transaction_id": "90212",
        "note": "Credited twice",
        **LEVEL,
        "cause": "adjust:5e0b6f0e-3f5a-4c39-8a4c-5f0c7f1b9d10",
    },
)
POINTS_EXPIRED = webhook(
    "points.expired",
    "A member's points expired",
    PointsExpiredData,
    {
        "user_id": 42,
        "points_expired": 30,
        "new_balance": 250,
        "transaction_id": "90213",
        "note": "Expired: earned before 2025-03-14",
        "current_level": "Silver",
        "cause": "expire:2026-03-14",
    },
)
POINTS_RETURNED = webhook(
    "points.returned",
    "The points of a cancelled redemption were returned",
    PointsReturnedData,
    {
        "user_id": 42,
        "points_returned": 200,
        "new_balance": 450,
        "transaction_id": "90214",
        "redemption_id": 733,
        "note": "Cancelled: Enamel mug",
        **LEVEL,
        "cause": "redeem-undo:733",
    },
)
POINTS_TRANSFERRED = webhook(
    "points.transferred",
    "A member gave points to another: one event for each of the two",
    PointsTransferredData,
    {
        "user_id": 42,
        "points_transferred": -50,
        "new_balance": 270,
        "transaction_id": "90216",
        "transfer_id": 311,
        "note": "Given to another member",
        **LEVEL,
        "cause": "transfer:311",
    },
)
POINTS_REVERSED = webhook(
    "points.reversed",
    "An order was returned or cancelled, and its points were taken back",
    PointsReversedData,
    {
        "user_id": 42,
        "order_id": "SO-17",
        "return_id": "R-1",
        "points_reversed": 25,
        "pending_cancelled": 0,
        "points_owed": 0,
        "points_pending": 0,
        "new_balance": 225,
        "note": "Returned order SO-17",
        **LEVEL,
        "cause": "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42",
    },
)
POINTS_PENDING = webhook(
    "points.pending",
    "An order earned points that are not part of the balance yet",
    PointsPendingData,
    {
        "user_id": 42,
        "points_pending": 25,
        "release_at": WHEN,
        "new_balance": 320,
        "transaction_id": "90215",
        "reason_ids": ["order:SO-17"],
        "note": "Points for order SO-17",
        "current_level": "Silver",
        "cause": "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42",
    },
)
POINTS_RELEASED = webhook(
    "points.released",
    "Pending points became part of the balance",
    PointsReleasedData,
    {
        "user_id": 42,
        "points_released": 25,
        "new_balance": 345,
        "transaction_id": "90240",
        "reason_id": "order:SO-17",
        **LEVEL,
        "cause": "release:90215",
    },
)
LEVEL_REACHED = webhook(
    "level.reached",
    "A customer reached a level",
    LevelReachedData,
    {"user_id": 42, **LEVEL, "cause": "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42"},
)
LEVEL_RENEWED = webhook(
    "level.renewed",
    "A member's level was renewed for another period",
    LevelEndedData,
    {
        "user_id": 42,
        "level_before": "Silver",
        "current_level": "Silver",
        "period_points": 540,
        "level_until": "2027-12-31",
        "lifetime_points": 1060,
        "cause": "level:2026-12-31",
    },
)
LEVEL_LOWERED = webhook(
    "level.lowered",
    "A member lost a level",
    LevelEndedData,
    {
        "user_id": 42,
        "level_before": "Gold",
        "current_level": "Silver",
        "period_points": 540,
        "level_until": "2027-12-31",
        "lifetime_points": 2060,
        "cause": "level:2026-12-31",
    },
)
REWARD_REDEEMED = webhook(
    "reward.redeemed", "A customer redeemed a reward", RewardChangedData, {**REDEEMED, "new_balance": 130}
)
REWARD_USED = webhook(
    "reward.used", "A redemption code was used at the till", RewardUsedData, {**REDEEMED, "used_at": WHEN}
)
REWARD_CANCELLED = webhook(
    "reward.cancelled", "A redemption was cancelled", RewardChangedData, {**REDEEMED, "new_balance": 450}
)
MEMBER_ENROLLED = webhook(
    "member.enrolled", "A customer became a member", MemberEnrolledData, {"user_id": 42, "enrolled_at": WHEN}
)
MEMBER_BLOCKED = webhook("member.blocked", "A member was blocked", MemberEventData, {"user_id": 42})
MEMBER_UNBLOCKED = webhook("member.unblocked", "A member was unblocked", MemberEventData, {"user_id": 42})
MEMBER_CHANGED = webhook(
    "member.changed", "A member's details changed", MemberChangedData, {"user_id": 42, "changed": ["email"]}
)
MERGED_EXAMPLE = {
    "user_id": 42,
    "merge_id": 12,
    "merged_user_id": 57,
    "points_moved": 120,
    "new_balance": 440,
    "current_level": "Silver",
    "lifetime_points": 960,
    "cause": "merge:12",
}
MEMBER_MERGED = webhook("member.merged", "Another account was merged into a member's", MemberMergedData, MERGED_EXAMPLE)
MEMBER_UNMERGED = webhook(
    "member.unmerged",
    "A merge of two accounts was undone",
    MemberMergedData,
    {**MERGED_EXAMPLE, "new_balance": 320, "cause": "merge:12:undo"},
)
MEMBER_ERASED = webhook("member.erased", "A customer's personal data was erased", MemberEventData, {"user_id": 42})
JOB_FINISHED = webhook(
    "job.finished",
    "A job finished, failed or was cancelled",
    JobFinishedData,
    {
        "job_id": 912,
        "kind": "generate",
        "status": "done",
        "done": 1000,
        "total": 1000,
        "created_at": WHEN,
        "finished_at": WHEN,
    },
)
WEBHOOK_TEST = webhook("webhook.test", "A test was sent", WebhookTestData, {"webhook": 5, "message": "Hello."})
