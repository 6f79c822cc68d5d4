"""The root of every refusal, and those that any app may raise."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

CHALLENGE = "Bearer"


class DomainError(Exception):
    """An expected no. `code` is the API's error code; core.api.exception_handler maps it to an HTTP status."""

    code: ClassVar[str] = "REFUSED"
    default_message: ClassVar[Any] = _("The request was rejected.")

    def __init__(self, message: str = "", *, details: dict[str, Any] | None = None) -> None:
        self.message = str(message or self.default_message)
        self.details = details or {}
        super().__init__(self.message)


class Invalid(DomainError):
    code = "VALIDATION_ERROR"
    default_message = _("The request is not valid.")


class QuotaReached(Invalid):
    """A brand would use more of the installation than the operator lets it; `details` names the field, if any."""


class NotFound(DomainError):
    code = "NOT_FOUND"
    default_message = _("Not found.")


class Forbidden(DomainError):
    code = "FORBIDDEN"
    default_message = _("You do not have permission to do this.")


class AuthenticationRequired(DomainError):
    code = "AUTHENTICATION_REQUIRED"
    default_message = _("Send an access token: 'Authorization: Bearer <token>'.")


class RateLimited(DomainError):
    """Too many requests; `retry_after` is in whole seconds."""

    code = "RATE_LIMITED"
    default_message = _("Too many requests. Wait before trying again.")

    def __init__(self, message: str = "", *, retry_after: int) -> None:
        super().__init__(message, details={"retry_after": retry_after})
        self.retry_after = retry_after


class Unavailable(DomainError):
    """Something this request needs does not answer; `retry_after` is in whole seconds."""

    code = "UNAVAILABLE"
    default_message = _("Service temporarily unavailable. Try again in a few seconds.")

    def __init__(self, message: str = "", *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestInProgress(DomainError):
    code = "REQUEST_IN_PROGRESS"
    default_message = _("The same request is still being processed. Try again in a moment.")


class IdempotencyKeyReused(DomainError):
    code = "IDEMPOTENCY_KEY_REUSED"
    default_message = _("This Idempotency-Key was used for another request. Use a new one.")
