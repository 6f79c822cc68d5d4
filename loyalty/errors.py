"""Why a customer gets no points, or nothing for them."""

from django.utils.translation import gettext_lazy as _

from core.errors import DomainError, Invalid


class LoyaltyDisabled(DomainError):
    code = "LOYALTY_DISABLED"
    status = 403
    default_message = _("This brand's loyalty programme is switched off.")


class MemberBlocked(DomainError):
    code = "MEMBER_BLOCKED"
    status = 403
    default_message = _("This customer's account is blocked.")


class EmailNotConfirmed(DomainError):
    code = "EMAIL_NOT_CONFIRMED"
    status = 403
    default_message = _(
        "This brand gives points to confirmed e-mail addresses only. They follow when the customer has confirmed it."
    )


class UserNotEnrolled(DomainError):
    code = "USER_NOT_ENROLLED"
    status = 422
    default_message = _("This customer is not enrolled, and the brand does not enrol automatically.")


class PointsAlreadyClaimed(DomainError):
    code = "POINTS_ALREADY_CLAIMED"
    status = 409
    default_message = _("Points for this were already credited to this customer.")


class ExternallyRefused(DomainError):
    code = "EXTERNALLY_REFUSED"
    status = 409
    default_message = _("The brand's own loyalty system refuses points for this.")


class NotEligible(DomainError):
    code = "NOT_ELIGIBLE"
    status = 422
    default_message = _("The brand gives nothing for this action.")


class CurrencyNotAccepted(DomainError):
    code = "CURRENCY_NOT_ACCEPTED"
    status = 422
    default_message = _("The brand counts in another currency and has stated no rate for this one.")


class OrderOfAnother(DomainError):
    code = "ORDER_ALREADY_CREDITED"
    status = 409
    default_message = _("This order was credited to another customer.")


class NotEnoughPoints(Invalid):
    default_message = _("The account does not hold so many points.")


class RewardNotFound(DomainError):
    code = "REWARD_NOT_FOUND"
    status = 404
    default_message = _("This brand has no reward with this id.")


class RewardNotAvailable(DomainError):
    code = "REWARD_NOT_AVAILABLE"
    status = 409
    default_message = _("This reward cannot be had at the moment.")


class OutOfStock(DomainError):
    code = "OUT_OF_STOCK"
    status = 409
    default_message = _("None of this reward is left.")


class NotEnoughPointsForReward(DomainError):
    code = "NOT_ENOUGH_POINTS"
    status = 409
    default_message = _("The balance is smaller than what this reward costs.")


class LevelTooLow(DomainError):
    code = "LEVEL_TOO_LOW"
    status = 409
    default_message = _("This reward is for members of a higher level.")


class RedemptionLimitReached(DomainError):
    code = "REDEMPTION_LIMIT_REACHED"
    status = 409
    default_message = _("This member has taken as many of this reward as one may.")


class RedemptionCodeUnknown(DomainError):
    code = "REDEMPTION_CODE_UNKNOWN"
    status = 404
    default_message = _("This brand gave no such code. Look for a slip.")


class RedemptionUsed(DomainError):
    code = "REDEMPTION_USED"
    status = 409
    default_message = _("This code was used already.")


class UndoNotPossible(DomainError):
    code = "UNDO_NOT_POSSIBLE"
    status = 409
    default_message = _("This reward can no longer be given back. Ask the brand.")


class RedemptionExpired(DomainError):
    code = "REDEMPTION_EXPIRED"
    status = 409
    default_message = _("This code is past its last day.")


class RedemptionCancelled(DomainError):
    code = "REDEMPTION_CANCELLED"
    status = 409
    default_message = _("This code was cancelled, and its points went back.")
