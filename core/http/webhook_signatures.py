"""Signatures of requests to third-party servers, as Standard Webhooks defines them (version 1.0.0)."""

import base64
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

from django.views.decorators.debug import sensitive_variables

PREFIX = "whsec_"
SECRET_BYTES = 32  # the standard requires 24 to 64


def new_secret() -> str:
    """`whsec_` and 256 random bits in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


@sensitive_variables("secrets_in_use")
def signed_headers(*, message_id: str, at: datetime, body: bytes, secrets_in_use: Sequence[str]) -> dict[str, str]:
    """The three headers, signed with each secret: while secrets are rotated, the receiver may know either."""
    timestamp = str(int(at.timestamp()))
    content = f"{message_id}.{timestamp}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signature(secret, content) for secret in secrets_in_use),
    }


@sensitive_variables("secret")
def signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
