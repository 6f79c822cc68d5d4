"""JSON bodies: which requests are accepted, and how answers are encoded."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import chain
from typing import IO, Any, NoReturn

from django.utils.translation import gettext, gettext_noop
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder

from core.errors import Invalid
from core.languages import filled

NOT_JSON = gettext_noop("The body is not JSON: %(why)s (line %(line)d, column %(column)d).")
DEEPEST = 50  # nested objects and lists
MAX_INTEGER = 2**63 - 1
# PostgreSQL stores no NUL, and half of a surrogate pair has no UTF-8 form.
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


class Encoder(JSONEncoder):
    """Points are decimals internally and plain JSON numbers in answers."""

    def default(self, o: Any) -> Any:
        if isinstance(o, Decimal):
            return int(o) if o == o.to_integral_value() else float(o)
        return super().default(o)


class Json(BaseRenderer):
    """Compact UTF-8."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8 by definition
    encoder = Encoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else self.encoder.encode(data).encode()


class Negotiation(DefaultContentNegotiation):
    """DRF's negotiation, with a fast path for the usual request: it accepts JSON, and the view renders only JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first, *remaining = renderers
        usual = request.META.get("HTTP_ACCEPT", "*/*") in {"*/*", first.media_type}
        if usual and not remaining and not format_suffix and not request.META.get("QUERY_STRING"):
            return first, first.media_type
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, [first, *remaining], format_suffix)
        return chosen


class StrictJson(JSONParser):
    """A JSON object in UTF-8 whose values can all be stored, compared and sent on.

    A body longer than settings.DATA_UPLOAD_MAX_MEMORY_SIZE never gets here: DRF lets Django read the body first.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Raises Invalid with the reason."""
        encoding = (parser_context or {}).get("encoding", "utf-8")
        if encoding.lower() not in {"utf-8", "utf8"}:
            message = gettext("Send the body as UTF-8; no other charset is read.")
            raise Invalid(message)
        return read_object(stream.read())


def read_object(body: bytes) -> dict[str, Any]:
    """Parse `body`, which must be a JSON object. Raises Invalid with the reason."""
    try:
        text = body.decode()
        result = DECODER.decode(text)
    except UnicodeDecodeError as error:
        message = filled("The body is not UTF-8: byte %(byte)d cannot be read.", byte=error.start)
        raise Invalid(message) from error
    except json.JSONDecodeError as error:
        message = filled(NOT_JSON, why=error.msg, line=error.lineno, column=error.colno)
        raise Invalid(message) from error
    except RecursionError as error:
        raise too_deep() from error
    if not isinstance(result, dict):
        message = gettext("The body must be a JSON object: {...}.")
        raise Invalid(message)
    # Only an escape can hide such a character, and only many brackets can nest deeply: most bodies need no second pass.
    if "\\u" in text or text.count("{") + text.count("[") > DEEPEST:
        inspect(result)
    return result


def inspect(parsed: dict[str, Any]) -> None:
    """Raises Invalid for an unwritable character or for deep nesting. Goes level by level, so it never recurses."""
    level: list[Any] = [parsed]
    for _ in range(DEEPEST):
        inner = list(chain.from_iterable(map(members, level)))
        if any(isinstance(value, str) and UNWRITABLE.search(value) for value in inner):
            message = gettext(r"The body contains a character that is not text: \u0000 or half of a surrogate pair.")
            raise Invalid(message)
        level = [value for value in inner if isinstance(value, dict | list)]
        if not level:
            return
    raise too_deep()


def members(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return chain(value, value.values()) if isinstance(value, dict) else value


def too_deep() -> Invalid:
    return Invalid(filled("The body is nested more than %(most)d levels deep.", most=DEEPEST))


def read_integer(digits: str) -> int:
    """Raises Invalid beyond 64 bits. Checks the length first: converting a million digits takes long."""
    number = int(digits) if len(digits) <= 20 else MAX_INTEGER + 1
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        message = filled("A number in the body is too large: integers go up to %(most)d.", most=MAX_INTEGER)
        raise Invalid(message)
    return number


def read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        message = gettext("A number in the body is too large.")
        raise Invalid(message)
    return number


def reject_constant(name: str) -> NoReturn:
    message = filled("The body is not JSON: %(name)s is not a number.", name=name)
    raise Invalid(message)


def read_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises Invalid for a duplicate name: two parsers could read one body differently."""
    result = dict(pairs)
    if len(result) < len(pairs):
        message = gettext("The body names a member of an object twice.")
        raise Invalid(message)
    return result


DECODER = json.JSONDecoder(
    parse_int=read_integer,
    parse_float=read_float,
    parse_constant=reject_constant,
    object_pairs_hook=read_members,
)
