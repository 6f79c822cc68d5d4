"""SMS: sends one request to Twilio's Messages resource, or to a compatible server."""

import base64
import json
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from core.http import client
from core.http.client import RequestFailedError
from loyalty.notifications.channels.base import (
    AddressBouncedError,
    Failed,
    NotSent,
    OutboundMessage,
    busy,
    check_may_send,
    number,
)

# https://www.twilio.com/docs/api/errors: no such number, not a mobile number, unreachable, unsubscribed, blocked.
DEAD_NUMBERS = frozenset({21211, 21214, 21217, 21610, 21614, 30003, 30004, 30005, 30006})


def send(message: OutboundMessage) -> str:
    """Returns Twilio's message SID. Raises AddressBouncedError, Failed, NotSent, RetryLater.

    Twilio has no idempotency key: after a crash between its response and our commit, the message is sent again.
    """
    check_may_send(message)
    own = message.settings
    sid = own.twilio_account_sid
    key = base64.b64encode(f"{sid}:{own.twilio_auth_token}".encode()).decode()
    sender = "MessagingServiceSid" if own.sms_sender.startswith("MG") else "From"
    form = {"To": message.address, sender: own.sms_sender, "Body": message.composed.text}
    try:
        answer = client.send(
            "POST",
            f"{settings.TWILIO_URL}/2010-04-01/Accounts/{sid}/Messages.json",
            headers={"Authorization": f"Basic {key}", "Content-Type": "application/x-www-form-urlencoded"},
            content=urlencode(form).encode(),
        )
    except RequestFailedError as error:
        raise NotSent(f"Twilio: {error}") from error
    body = read(answer.body)
    if answer.status == 201:
        return str(body.get("sid", ""))[:255]
    code = number(body.get("code"))
    failure = f"Twilio {answer.status}, {code}: {body.get('message', '')}"[:500]
    if code in DEAD_NUMBERS:
        raise AddressBouncedError(failure)
    if answer.status in {401, 403, 408, 429} or answer.status >= 500:  # 401, 403: until the brand fixes its settings
        raise busy(answer, failure)
    raise Failed(failure)


def read(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
