"""Push: sends one request to Firebase Cloud Messaging (HTTP v1), with the token of a service account."""

import json
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import Invalid
from core.http import client, google_service_accounts
from core.http.client import Answer, RequestFailedError
from core.http.google_service_accounts import NotGranted, ServiceAccount
from loyalty.notifications.channels.base import (
    AddressBouncedError,
    Failed,
    NotSent,
    OutboundMessage,
    busy,
    check_may_send,
)
from loyalty.notifications.channels.sms import read

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
FIELD = "fcm_service_account"
# The token is invalid, or belongs to another project.
DEAD_TOKENS = frozenset({"UNREGISTERED", "SENDER_ID_MISMATCH"})


def check_upload(text: str) -> None:
    """Raises Invalid if the text is not a file of Google's console or its key cannot sign, and Unavailable."""
    google_service_accounts.read(text, field=FIELD)
    service_account(text)


@lru_cache(maxsize=64)
def service_account(text: str) -> ServiceAccount:
    """The stored file, which was checked at its upload. Raises Invalid if it names no project."""
    account = google_service_accounts.read_stored(text, field=FIELD)
    if not account.project_id:
        raise Invalid(_("This file lacks the project_id."), details={"field": FIELD})
    return account


def send(message: OutboundMessage) -> str:
    """Returns FCM's message name. Raises AddressBouncedError, Failed, NotSent, RetryLater.

    A repeated message replaces the first one on the device, by its tag and collapse id.
    """
    check_may_send(message)
    try:
        account = service_account(message.settings.fcm_service_account)
    except Invalid as invalid:  # removed since the message was queued
        raise Failed(invalid.message) from invalid
    answer = post(
        f"{settings.FCM_URL}/v1/projects/{account.project_id}/messages:send",
        json.dumps({"message": message_of(message)}).encode(),
        {"Authorization": f"Bearer {access_token(account)}", "Content-Type": "application/json"},
    )
    body = read(answer.body)
    if answer.status == 200:
        return str(body.get("name", ""))[:255]
    if answer.status == 401:
        google_service_accounts.discard_token(account, scope=SCOPE)
    kind, reason = error_of(body)
    error = f"FCM {answer.status} {kind}: {reason}"[:500]
    if kind in DEAD_TOKENS or (kind == "INVALID_ARGUMENT" and "registration token" in reason):
        raise AddressBouncedError(error)
    if answer.status in {401, 403, 408, 429} or answer.status >= 500:
        raise busy(answer, error)
    raise Failed(error)


def message_of(message: OutboundMessage) -> dict[str, Any]:
    number, composed = str(message.delivery.delivery_id), message.composed
    return {
        "token": message.address,
        "notification": {"title": composed.subject, "body": composed.text},
        "data": {"notice_id": number, "template": message.delivery.template},
        "android": {"collapse_key": number, "notification": {"tag": number}},
        "apns": {"headers": {"apns-collapse-id": number}},
        "webpush": {"notification": {"tag": number}},
    }


def error_of(body: dict[str, Any]) -> tuple[str, str]:
    """FCM's own error code if there is one, else Google's; and its message."""
    error = body.get("error")
    if not isinstance(error, dict):
        return "", ""
    details = [detail for detail in error.get("details", ()) if isinstance(detail, dict)]
    codes = [detail["errorCode"] for detail in details if "errorCode" in detail]
    return str(codes[0] if codes else error.get("status", "")), str(error.get("message", ""))


def access_token(account: ServiceAccount) -> str:
    try:
        return google_service_accounts.access_token(account, scope=SCOPE)
    except RequestFailedError as error:
        raise NotSent(f"FCM: {error}") from error
    except NotGranted as error:
        raise busy(error.answer, str(error)) from error


def post(url: str, content: bytes, headers: dict[str, str]) -> Answer:
    try:
        return client.send("POST", url, headers=headers, content=content)
    except RequestFailedError as error:
        raise NotSent(f"FCM: {error}") from error
