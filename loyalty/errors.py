"""Domain errors of loyalty: why a customer gets no points, or nothing for them."""

from django.utils.translation import gettext_lazy as _

from core.errors import DomainError, Invalid


class LoyaltyDisabled(DomainError, code="LOYALTY_DISABLED", status=403):
    default_message = _("This brand's loyalty programme is switched off.")


class MemberBlocked(DomainError, code="MEMBER_BLOCKED", status=403):
    default_message = _("This customer's account is blocked.")


class MemberMerged(MemberBlocked):
    """Keeps the code MEMBER_BLOCKED, because callers handle both in the same way."""

    default_message = _("This customer's account was merged into another account. Use that one.")


class EmailNotConfirmed(DomainError, code="EMAIL_NOT_CONFIRMED", status=403):
    default_message = _(
        "This brand credits points only to confirmed e-mail addresses. The "
        "points follow once the customer confirms theirs."
    )


class UserNotEnrolled(DomainError, code="USER_NOT_ENROLLED", status=422):
    default_message = _("This customer is not enrolled, and the brand does not enrol automatically.")


class PointsAlreadyClaimed(DomainError, code="POINTS_ALREADY_CLAIMED", status=409):
    default_message = _("Points for this have already been credited to this customer.")


class ExternallyRejected(DomainError, code="EXTERNALLY_REFUSED", status=409):
    default_message = _("The brand's external loyalty system rejected the points.")


class NotEligible(DomainError, code="NOT_ELIGIBLE", status=422):
    default_message = _("The brand gives no points for this action.")


class CurrencyNotAccepted(DomainError, code="CURRENCY_NOT_ACCEPTED", status=422):
    default_message = _("The brand uses another currency and has no rate for this one.")


class OrderOfAnother(DomainError, code="ORDER_ALREADY_CREDITED", status=409):
    default_message = _("This order was credited to another customer.")


class OrderUnknown(DomainError, code="ORDER_UNKNOWN", status=404):
    default_message = _("This brand credited no order with this id. Send the order first, or check its id.")


class ReturnExceedsOrder(DomainError, code="RETURN_EXCEEDS_ORDER", status=422):
    default_message = _("More was returned than was bought and not yet returned.")


class ReturnIdReused(DomainError, code="RETURN_ID_REUSED", status=409):
    default_message = _("A return with this id was reported before, with other content.")


class NotEnoughPoints(Invalid):
    default_message = _("The account does not have enough points.")


class RewardNotFound(DomainError, code="REWARD_NOT_FOUND", status=404):
    default_message = _("This brand has no reward with this id.")


class RewardNotAvailable(DomainError, code="REWARD_NOT_AVAILABLE", status=409):
    default_message = _("This reward is currently unavailable.")


class OutOfStock(DomainError, code="OUT_OF_STOCK", status=409):
    default_message = _("This reward is out of stock.")


class NotEnoughPointsForReward(DomainError, code="NOT_ENOUGH_POINTS", status=409):
    default_message = _("Not enough points for this reward.")


class TransfersNotAllowed(DomainError, code="TRANSFERS_NOT_ALLOWED", status=403):
    default_message = _("Members of this brand cannot give points to each other.")


class ReceiverNotFound(DomainError, code="RECEIVER_NOT_FOUND", status=404):
    default_message = _("Nobody can receive points under this number. Check it, or scan the receiver's code again.")


class TransferLimitReached(DomainError, code="TRANSFER_LIMIT_REACHED", status=409):
    default_message = _("You have given as many points as this brand allows in a day.")


class LevelTooLow(DomainError, code="LEVEL_TOO_LOW", status=409):
    default_message = _("This reward requires a higher level.")


class RedemptionLimitReached(DomainError, code="REDEMPTION_LIMIT_REACHED", status=409):
    default_message = _("Redemption limit reached for this reward.")


class RedemptionCodeUnknown(DomainError, code="REDEMPTION_CODE_UNKNOWN", status=404):
    default_message = _("Code not found. Check it for typos.")


class RedemptionUsed(DomainError, code="REDEMPTION_USED", status=409):
    default_message = _("This code has already been used.")


class UndoNotPossible(DomainError, code="UNDO_NOT_POSSIBLE", status=409):
    default_message = _("This reward can no longer be cancelled. Contact the brand.")


class MergeNotPossible(DomainError, code="MERGE_NOT_POSSIBLE", status=409):
    default_message = _("These accounts cannot be merged.")


class MergeUndoNotPossible(DomainError, code="MERGE_UNDO_NOT_POSSIBLE", status=409):
    default_message = _("This merge can no longer be undone.")


class RedemptionExpired(DomainError, code="REDEMPTION_EXPIRED", status=409):
    default_message = _("This code has expired.")


class RedemptionCancelled(DomainError, code="REDEMPTION_CANCELLED", status=409):
    default_message = _("This code was cancelled and its points were refunded.")


class ReferralsNotOffered(DomainError, code="REFERRALS_NOT_OFFERED", status=403):
    default_message = _("This brand gives no points for friends at the moment.")


class ReferralCodeUnknown(DomainError, code="REFERRAL_CODE_UNKNOWN", status=404):
    default_message = _("There is no such code. Check it for typos, or leave it out.")
    example_details = {"field": "referral_code"}


class ReferralTooLate(DomainError, code="REFERRAL_TOO_LATE", status=409):
    default_message = _("A friend's code counts for new members only, before their first scan or order.")


class AlreadyReferred(DomainError, code="ALREADY_REFERRED", status=409):
    default_message = _("You have already entered another friend's code.")
