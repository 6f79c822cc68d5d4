"""The latest calls with each hub key, kept in Redis for the key's page."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from time import time
from typing import cast

from django.http import HttpRequest, HttpResponseBase
from django.utils.timezone import get_current_timezone

from core.redis.client import call_or_none, command, run

MAX_CALLS = 100
RETENTION_SECONDS = 30 * 24 * 3600  # after the latest call
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# KEYS[1]: the list of a key. ARGV: a call, how many to keep, and for how many seconds.
PUSH = """
redis.call('lpush', KEYS[1], ARGV[1])
redis.call('ltrim', KEYS[1], 0, ARGV[2] - 1)
redis.call('expire', KEYS[1], ARGV[3])
"""


@dataclass(frozen=True, slots=True)
class KeyCall:
    """A call with a key. `path` is the template of the API's description: the actual values may be secret."""

    at: datetime
    method: str
    path: str
    status: int
    request_id: str


class KeyCallsMiddleware:
    """Middleware: records each call with a hub key. While Redis is away nothing is recorded and no call waits."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        key_id = getattr(request, "hub_key_id", None)
        if key_id is not None:
            record(key_id, request, response.status_code)
        return response


def record(key_id: int, request: HttpRequest, status: int) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    path = "/" + PARAMETER.sub(r"{\1}", route)
    call = json.dumps([time(), request.method, path, status, getattr(request, "request_id", "")])
    key = redis_key(key_id, is_rejected=status == HTTPStatus.UNAUTHORIZED)
    call_or_none(lambda: run(PUSH, [key], (call, MAX_CALLS, RETENTION_SECONDS)))


def latest(key_id: int) -> list[KeyCall] | None:
    """The key's latest calls and its latest rejected ones, newest first. None while Redis does not answer."""
    result: list[KeyCall] = []
    for is_rejected in (False, True):
        key = redis_key(key_id, is_rejected=is_rejected)
        stored = call_or_none(lambda key=key: cast("list[bytes]", command("LRANGE", key, 0, MAX_CALLS - 1)))  # type: ignore[misc]
        if stored is None:
            return None
        result += [_call(json.loads(each)) for each in stored]
    return sorted(result, key=lambda call: call.at, reverse=True)


def _call(stored: list[object]) -> KeyCall:
    at, method, path, status, request_id = stored
    moment = datetime.fromtimestamp(cast("float", at), tz=get_current_timezone())
    return KeyCall(moment, str(method), str(path), cast("int", status), str(request_id))


def redis_key(key_id: int, *, is_rejected: bool) -> str:
    """Rejected calls have a list of their own: they are not limited, and must not push out the others."""
    return f"key-calls-rejected:{key_id}" if is_rejected else f"key-calls:{key_id}"
