"""Google's REST API: creates or updates a brand's class and a member's object."""

import json
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from core.http import client, google_service_accounts
from loyalty.wallets.google.issuer_keys import GoogleKeys

SCOPE = "https://www.googleapis.com/auth/wallet_object.issuer"  # of the access tokens
TIMEOUT_SECONDS = 15
RETRY = timedelta(seconds=30)
MAX_WAIT = timedelta(hours=1)
UNKNOWN_ACCOUNT = frozenset({400, 401, 403})  # of the token server: it does not accept the account or its key


class RetryAfter(Exception):
    """Google wants a retry after `after`, which is at least a second."""

    def __init__(self, message: str, after: timedelta) -> None:
        super().__init__(message)
        self.after = max(after, timedelta(seconds=1))


class Rejected(Exception):
    """Google rejects the request: the account has no permission, or the request is invalid."""


class QuotaExceeded(Exception):
    """Google has sent this customer the maximum number of notifications today."""


def put(*, kind: str, content: dict[str, Any], keys: GoogleKeys) -> dict[str, Any]:
    """Create or update the resource of this kind (`loyaltyClass`, `loyaltyObject`) with `content`.

    Returns Google's version of it. Raises RetryAfter, Rejected, QuotaExceeded, and client.RequestFailedError.
    """
    answer = call("PATCH", f"{kind}/{content['id']}", content, keys)
    if answer.status == 404:
        answer = call("POST", kind, content, keys)
        if answer.status == 409:  # created concurrently
            answer = call("PATCH", f"{kind}/{content['id']}", content, keys)
    return read(answer, f"{kind} {content['id']}")


def call(method: str, path: str, content: dict[str, Any], keys: GoogleKeys) -> client.Answer:
    """Send one request. A token that expired early is replaced once."""
    answer = _send(method, path, content, keys)
    if answer.status == 401:
        google_service_accounts.discard_token(keys.account, scope=SCOPE)
        answer = _send(method, path, content, keys)
    return answer


def _send(method: str, path: str, content: dict[str, Any], keys: GoogleKeys) -> client.Answer:
    try:
        token = google_service_accounts.access_token(keys.account, scope=SCOPE)
    except google_service_accounts.NotGranted as error:
        if error.answer.status in UNKNOWN_ACCOUNT:
            raise Rejected(str(error)) from error
        raise client.RequestFailedError(str(error)) from error
    return client.send(
        method,
        f"{settings.GOOGLE_WALLET_ADDRESS}/{path}",
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        content=json.dumps(content).encode(),
        timeout_seconds=TIMEOUT_SECONDS,
    )


def read(answer: client.Answer, what: str) -> dict[str, Any]:
    if answer.status in {200, 201}:
        try:
            data = json.loads(answer.body)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise client.RequestFailedError(f"Google answered {what} with what is no JSON object")
        return data
    why = f"Google answered {answer.status} for {what}: {answer.body[:300].decode(errors='replace')}"
    if "QuotaExceeded" in why:
        raise QuotaExceeded(why)
    if answer.status == 429 or answer.status >= 500:
        raise RetryAfter(why, answer.retry_after(at=timezone.now(), at_most=MAX_WAIT) or RETRY)
    raise Rejected(why)
