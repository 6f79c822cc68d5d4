"""The `data` of webhook events about points, rewards, members and jobs."""

from rest_framework import serializers

from core.api.outputs import Output, PointsField, TimestampField
from jobs.models import Job

NEW_BALANCE = "The member's balance after it."
LIFETIME = "Earned in all; what levels count where they stay for good."
CAUSE = "What caused it, the same in each event of one cause."
TRANSACTION = "The ledger line."
CHANGEABLE = ["first_name", "last_name", "email", "phone", "language", "birthday", "external_id"]


class MemberEventData(Output):
    user_id = serializers.IntegerField()


class BalanceEventData(MemberEventData):
    new_balance = PointsField(help_text=NEW_BALANCE)
    transaction_id = serializers.CharField(help_text=TRANSACTION)
    note = serializers.CharField(allow_blank=True, help_text="The text of the ledger line.")
    current_level = serializers.CharField(allow_blank=True)
    cause = serializers.CharField(help_text=CAUSE)


class PointsEarnedData(BalanceEventData):
    points_earned = PointsField()
    reason_ids = serializers.ListField(child=serializers.CharField(), help_text="What earned them.")
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsAdjustedData(BalanceEventData):
    points_adjusted = PointsField(help_text="Negative where points were deducted.")
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsExpiredData(BalanceEventData):
    points_expired = PointsField()


class PointsReturnedData(BalanceEventData):
    points_returned = PointsField()
    redemption_id = serializers.IntegerField()
    lifetime_points = PointsField(help_text=LIFETIME)


class PointsTransferredData(BalanceEventData):
    points_transferred = PointsField(help_text="Negative for the member who gave them.")
    transfer_id = serializers.IntegerField(help_text="The same on both sides.")
    lifetime_points = PointsField(help_text=LIFETIME)


class MemberMergedData(MemberEventData):
    merge_id = serializers.IntegerField()
    merged_user_id = serializers.IntegerField(help_text="The member whose account was merged into this one.")
    points_moved = PointsField(help_text="The balance that went over.")
    new_balance = PointsField(help_text=NEW_BALANCE)
    current_level = serializers.CharField(allow_blank=True)
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class PointsReversedData(MemberEventData):
    order_id = serializers.CharField()
    return_id = serializers.CharField(help_text="`whole` where the shop named none.")
    points_reversed = PointsField(help_text="Taken from the balance, or owed.")
    pending_cancelled = PointsField(help_text="Taken from pending points.")
    points_owed = PointsField(help_text="What the member owes in all after it.")
    points_pending = PointsField(help_text="What is pending in all after it.")
    new_balance = PointsField(help_text=NEW_BALANCE)
    note = serializers.CharField()
    current_level = serializers.CharField(allow_blank=True)
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class PointsPendingData(BalanceEventData):
    points_pending = PointsField()
    release_at = TimestampField(allow_null=True, help_text="Null: when the order's delivery is confirmed.")
    reason_ids = serializers.ListField(child=serializers.CharField(), help_text="What earned them.")


class PointsReleasedData(MemberEventData):
    points_released = PointsField()
    new_balance = PointsField(help_text=NEW_BALANCE)
    transaction_id = serializers.CharField(help_text=TRANSACTION)
    reason_id = serializers.CharField(help_text="What had earned them.")
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
    period_points = PointsField(help_text="Those of the period, which decided it.")
    level_until = serializers.DateField(allow_null=True, help_text="The last day of the level; null for the lowest.")
    lifetime_points = PointsField(help_text=LIFETIME)
    cause = serializers.CharField(help_text=CAUSE)


class RedemptionEventData(MemberEventData):
    redemption_id = serializers.IntegerField()
    reward_id = serializers.IntegerField(allow_null=True, help_text="Null for the reward of a milestone.")
    points = PointsField(help_text="What it cost.")


class RewardChangedData(RedemptionEventData):
    new_balance = PointsField(help_text=NEW_BALANCE)


class RewardUsedData(RedemptionEventData):
    used_at = TimestampField()


class MemberEnrolledData(MemberEventData):
    enrolled_at = TimestampField()


class MemberChangedData(MemberEventData):
    changed = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANGEABLE), help_text="The fields. Their values are in the brand's API."
    )


class JobFinishedData(Output):
    job_id = serializers.IntegerField()
    kind = serializers.CharField()
    status = serializers.ChoiceField(choices=[Job.Status.DONE, Job.Status.FAILED, Job.Status.CANCELLED])
    done = serializers.IntegerField(help_text="Of `total`.")
    total = serializers.IntegerField()
    created_at = TimestampField()
    finished_at = TimestampField()


class WebhookTestData(Output):
    webhook = serializers.IntegerField(help_text="Its id.")
    message = serializers.CharField()
