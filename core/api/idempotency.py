"""The Idempotency-Key header, and the ids that are derived from it."""

import re
import uuid

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core.errors import Invalid

# Any constant UUID: the namespace of the ids that are derived from Idempotency-Keys.
KEYS = uuid.UUID("6f1c1c5e-8f0e-4f0a-9b43-0d7f2f6b8f11")


def idempotent_id(*caller_and_key: object) -> uuid.UUID:
    """The id derived from an Idempotency-Key, the caller and the request."""
    return uuid.uuid5(KEYS, "\n".join(str(part) for part in caller_and_key))


IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
    OpenApiParameter.HEADER,
    description="Repeating a request with the same key returns the same answer and does nothing twice.",
)
REQUIRED_IDEMPOTENCY_HEADER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
    OpenApiParameter.HEADER,
    required=True,
    description="Send a new key for each new request. Repeating a request with the same key returns the first answer.",
)


def idempotency_key(request: Request) -> str:
    """The header's value, or "" without the header. Raises Invalid for a value that is empty or not a valid key."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
        raise Invalid(_("An Idempotency-Key has 1 to 255 printable ASCII characters without spaces."))
    return key or ""


def required_idempotency_key(request: Request) -> str:
    """The header's value. Raises Invalid without the header, too."""
    key = idempotency_key(request)
    if not key:
        message = _("The Idempotency-Key header is missing. Send a new key each time.")
        raise Invalid(message, details={"header": "Idempotency-Key"})
    return key
