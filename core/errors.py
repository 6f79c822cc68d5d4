"""The base class of all domain errors, and those that any app may raise."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from django.utils.translation import gettext_lazy as _

F = TypeVar("F", bound=Callable[..., Any])

CHALLENGE = "Bearer"


class DomainError(Exception):
    """An expected failure, declared once: the API's code and HTTP status, the default message and example details."""

    code: ClassVar[str]
    status: ClassVar[int]
    default_message: ClassVar[Any] = _("The request was rejected.")
    example_details: ClassVar[Mapping[str, Any]] = {}  # for the API's description

    def __init_subclass__(cls, *, code: str = "", status: int = 0) -> None:
        """What a class does not declare, it has from the class above it."""
        super().__init_subclass__()
        if code:
            cls.code = code
        if status:
            cls.status = status

    def __init__(self, message: str = "", *, details: dict[str, Any] | None = None) -> None:
        self.message = str(message or self.default_message)
        self.details = details or {}
        super().__init__(self.message)


def error_classes() -> dict[str, type[DomainError]]:
    """The error classes by code: for each code, the class nearest to the root."""
    kinds: list[type[DomainError]] = [DomainError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code: kind for kind in reversed(kinds) if hasattr(kind, "code") and hasattr(kind, "status")}


def raises(*kinds: type[DomainError]) -> Callable[[F], F]:
    """Declares which errors a command raises besides Invalid, RateLimited and Unavailable. Endpoints that call it
    document the same errors; a test checks that the list is complete."""

    def decorate(command: F) -> F:
        vars(command)["raises"] = kinds
        return command

    return decorate


class Invalid(DomainError, code="VALIDATION_ERROR", status=400):
    default_message = _("The request is not valid.")
    example_details = {"fields": {"brand_id": ["This field is required."]}}


class QuotaReached(Invalid):
    """A brand would exceed a quota that the operator set; `details` names the field, if any."""


class NotFound(DomainError, code="NOT_FOUND", status=404):
    default_message = _("Not found.")


class Forbidden(DomainError, code="FORBIDDEN", status=403):
    default_message = _("You do not have permission to do this.")


class AuthenticationRequired(DomainError, code="AUTHENTICATION_REQUIRED", status=401):
    default_message = _("Send an access token: 'Authorization: Bearer <token>'.")


class TokenInvalid(DomainError, code="TOKEN_INVALID", status=401):
    default_message = _("The token is not valid or has expired. Log in or refresh it.")


class RateLimited(DomainError, code="RATE_LIMITED", status=429):
    """Too many requests; `retry_after` is in whole seconds."""

    default_message = _("Too many requests. Wait before trying again.")
    example_details = {"retry_after": 17}

    def __init__(self, message: str = "", *, retry_after: int) -> None:
        super().__init__(message, details={"retry_after": retry_after})
        self.retry_after = retry_after


class Unavailable(DomainError, code="UNAVAILABLE", status=503):
    """A service that this request needs does not answer; `retry_after` is in whole seconds."""

    default_message = _("Service temporarily unavailable. Try again in a few seconds.")

    def __init__(self, message: str = "", *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestInProgress(DomainError, code="REQUEST_IN_PROGRESS", status=409):
    default_message = _("The same request is still being processed. Try again in a moment.")


class IdempotencyKeyReused(DomainError, code="IDEMPOTENCY_KEY_REUSED", status=422):
    default_message = _("This Idempotency-Key was used for another request. Use a new one.")


class MethodNotAllowed(DomainError, code="METHOD_NOT_ALLOWED", status=405):
    default_message = _("This address does not take this method; see Allow.")


class NotAcceptable(DomainError, code="NOT_ACCEPTABLE", status=406):
    default_message = _("The answer is application/json, which the Accept header excludes.")


class PayloadTooLarge(DomainError, code="PAYLOAD_TOO_LARGE", status=413):
    default_message = _("The body is too long.")


class UnsupportedMediaType(DomainError, code="UNSUPPORTED_MEDIA_TYPE", status=415):
    default_message = _("Send the body as 'Content-Type: application/json'.")


class InternalError(DomainError, code="INTERNAL_ERROR", status=500):
    """A bug, as the caller sees it. Never raised."""

    default_message = _("Something went wrong on our side. The request id helps us to find it.")
