"""The `data` of webhook events about points, rewards, members and jobs."""

from rest_framework import serializers

from core.api.outputs import Output, PointsField, TimestampField
from jobs.models import Job

NEW_BALANCE = "The member's balance after the event."
LIFETIME = "Points earned in total, which count for levels without periods."
CAUSE = "What caused the event; the same for all events with one cause."
TRANSACTION = "The id of the ledger entry."
CHANGEABLE = ["first_name", "last_name", "email", "phone", "language", "birthday", "external_id"]


class MemberEventData(Output):
    user_id = serializers.IntegerField()


class BalanceEventData(MemberEventData):
    new_balance = PointsField(help_text=NEW_BALANCE)
    transaction_id = serializers.CharField(help_text=TRANSACTION)
    note = serializers.CharField(allow_blank=True, help_text="The text of the ledger entry.")
    current_level = serializers.CharField(allow_blank=True)
    cause = serializers.CharField(help_text=CAUSE)


class PointsEarnedData(BalanceEventData):
    points_earned = PointsField()
    reason_ids = serializers.ListField(child=serializers.CharField(), help_text="What earned the points.")
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsAdjustedData(BalanceEventData):
    points_adjusted = PointsField(help_text="Negative if points were deducted.")
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsExpiredData(BalanceEventData):
    points_expired = PointsField()


class PointsReturnedData(BalanceEventData):
    points_returned = PointsField()
    redemption_id = serializers.IntegerField()
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsTransferredData(BalanceEventData):
    points_transferred = PointsField(help_text="Negative for the member who gave them.")
    transfer_id = serializers.IntegerField(help_text="The same for both members.")
    lifetime_points = PointsField(help_text=LIFETIME)


class MemberMergedData(MemberEventData):
    merge_id = serializers.IntegerField()
    merged_user_id = serializers.IntegerField(help_text="The member whose account was merged into this one.")
    points_moved = PointsField(help_text="The balance that was moved.")
    new_balance = PointsField(help_text=NEW_BALANCE)
    current_level = serializers.CharField(allow_blank=True)
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class PointsReversedData(MemberEventData):
    order_id = serializers.CharField()
    return_id = serializers.CharField(help_text="`whole` if the shop named none.")
    points_reversed = PointsField(help_text="Points taken from the balance, or owed.")
    pending_cancelled = PointsField(help_text="Points taken from the pending ones.")
    points_owed = PointsField(help_text="Points that the member owes in total after the event.")
    points_pending = PointsField(help_text="Points that are pending in total after the event.")
    new_balance = PointsField(help_text=NEW_BALANCE)
    note = serializers.CharField()
    current_level = serializers.CharField(allow_blank=True)
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class PointsPendingData(BalanceEventData):
    points_pending = PointsField()
    release_at = TimestampField(
        allow_null=True, help_text="Null if they are released when the order's delivery is confirmed."
    )
    reason_ids = serializers.ListField(child=serializers.CharField(), help_text="What earned the points.")


class PointsReleasedData(MemberEventData):
    points_released = PointsField()
    new_balance = PointsField(help_text=NEW_BALANCE)
    transaction_id = serializers.CharField(help_text=TRANSACTION)
    reason_id = serializers.CharField(help_text="What earned the points.")
    current_level = serializers.CharField(allow_blank=True)
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class LevelReachedData(MemberEventData):
    current_level = serializers.CharField()
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class LevelEndedData(MemberEventData):
    level_before = serializers.CharField()
    current_level = serializers.CharField(allow_blank=True)
    period_points = PointsField(help_text="The points of the period, which decided the level.")
    level_until = serializers.DateField(allow_null=True, help_text="The last day of the level; null for the lowest.")
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class RedemptionEventData(MemberEventData):
    redemption_id = serializers.IntegerField()
    reward_id = serializers.IntegerField(
        allow_null=True, help_text="Null for a milestone's reward that is not in the catalogue."
    )
    points = PointsField(help_text="The points that it cost.")


class RewardChangedData(RedemptionEventData):
    new_balance = PointsField(help_text=NEW_BALANCE)


class RewardUsedData(RedemptionEventData):
    used_at = TimestampField()


class MemberEnrolledData(MemberEventData):
    enrolled_at = TimestampField()


class MemberChangedData(MemberEventData):
    changed = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANGEABLE),
        help_text="The names of the changed fields. `read_member` returns their values.",
    )


class JobFinishedData(Output):
    job_id = serializers.IntegerField()
    kind = serializers.CharField()
    status = serializers.ChoiceField(choices=[Job.Status.DONE, Job.Status.FAILED, Job.Status.CANCELLED])
    done = serializers.IntegerField(help_text="How many of `total` are done.")
    total = serializers.IntegerField()
    created_at = TimestampField()
    finished_at = TimestampField()


class WebhookTestData(Output):
    webhook = serializers.IntegerField(help_text="The id of the webhook endpoint.")
    message = serializers.CharField()
