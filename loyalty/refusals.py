"""Why a customer gets no points."""

from brands.refusals import Refused


class LoyaltyDisabled(Refused):
    code = "LOYALTY_DISABLED"
    default_message = "This brand's loyalty programme is switched off."


class MemberBlocked(Refused):
    code = "MEMBER_BLOCKED"
    default_message = "This customer's account is blocked."


class UserNotEnrolled(Refused):
    code = "USER_NOT_ENROLLED"
    default_message = "This customer is not enrolled, and the brand enrols by hand."


class PointsAlreadyClaimed(Refused):
    code = "POINTS_ALREADY_CLAIMED"
    default_message = "Points for this were already credited to this customer."


class NotEligible(Refused):
    code = "NOT_ELIGIBLE"
    default_message = "The brand gives nothing for this action."


class RequestInProgress(Refused):
    code = "REQUEST_IN_PROGRESS"
    default_message = "The same request is being worked on. Ask again in a moment."


class IdempotencyKeyReused(Refused):
    code = "IDEMPOTENCY_KEY_REUSED"
    default_message = "This Idempotency-Key was used for another request. Use a new one."
