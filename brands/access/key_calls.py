"""The latest calls with each hub key, kept in Redis for the key's page."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import time
from typing import cast

from django.http import HttpRequest, HttpResponseBase
from django.utils.timezone import get_current_timezone

from core.redis.client import ask, command, run

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
    ask(lambda: run(PUSH, [redis_key(key_id)], (call, MAX_CALLS, RETENTION_SECONDS)))


def latest(key_id: int) -> list[KeyCall] | None:
    """The key's latest calls, the last one first. None while Redis does not answer."""
    result = ask(lambda: cast("list[bytes]", command("LRANGE", redis_key(key_id), 0, MAX_CALLS - 1)))
    return None if result is None else [_call(json.loads(each)) for each in result]


def _call(stored: list[object]) -> KeyCall:
    at, method, path, status, request_id = stored
    moment = datetime.fromtimestamp(cast("float", at), tz=get_current_timezone())
    return KeyCall(moment, str(method), str(path), cast("int", status), str(request_id))


def redis_key(key_id: int) -> str:
    return f"key-calls:{key_id}"
