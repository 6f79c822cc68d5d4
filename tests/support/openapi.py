"""Holds the API's answers to its own description: status, error code, headers and body."""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator

TRUE_FOR_EVERY_ADDRESS = {405: "METHOD_NOT_ALLOWED"}
GENERATOR: Any = SchemaGenerator  # without types
ENVELOPE = {"success", "error", "message", "request_id", "details"}


def made() -> dict[str, Any]:
    """As it is at this moment."""
    found: dict[str, Any] = json.loads(json.dumps(GENERATOR().get_schema(request=None, public=True)))
    return found


@cache
def description() -> dict[str, Any]:
    return made()


@cache
def templates() -> list[tuple[re.Pattern[str], str]]:
    """Each path of the description, and what the addresses look like that it stands for."""
    return [(re.compile(re.sub(r"\\{\w+\\}", "(.+)", re.escape(path))), path) for path in description()["paths"]]


def operation_at(method: str, address: str) -> dict[str, Any] | None:
    """What the description says of a call; None for an address that is none of the API's, or another method."""
    named = [path for pattern, path in templates() if pattern.fullmatch(address.partition("?")[0])]
    exact = [path for path in named if "{" not in path] or sorted(named, key=len, reverse=True)
    found: dict[str, Any] | None = description()["paths"][exact[0]].get(method.lower()) if exact else None
    return found


@cache
def validator(name: str, status: str) -> jsonschema_rs.Validator:
    """Of the JSON that an operation answers with a status."""
    content = operation(name)["responses"][status]["content"]["application/json"]
    return validator_of(json.dumps(content["schema"]))


@cache
def validator_of(schema: str) -> jsonschema_rs.Validator:
    """Of a schema of the description, given as JSON."""
    whole = {**json.loads(schema), "components": description()["components"]}
    return jsonschema_rs.validator_for(whole, validate_formats=True)


def webhook_validator(kind: str) -> jsonschema_rs.Validator:
    """Of the body of a webhook event."""
    content = description()["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    return validator_of(json.dumps(content["schema"]))


def operation(name: str) -> dict[str, Any]:
    return next(
        each for item in description()["paths"].values() for each in item.values() if each["operationId"] == name
    )


def hold(response: HttpResponse, *, method: str, address: str) -> None:
    """Fail unless the description has foreseen this answer."""
    assert response["X-Request-ID"]
    found = operation_at(method, address)
    if found is None or response.status_code in TRUE_FOR_EVERY_ADDRESS:
        hold_envelope(response)
        return
    status = str(response.status_code)
    assert status in found["responses"], f"{found['operationId']} does not describe {status}: {response.content!r}"
    for name in found["responses"][status]["headers"]:
        assert name in response.headers or name in {"Link", "Content-Language"}
    content = found["responses"][status].get("content", {})
    assert response.headers.get("Content-Type") in (content or {None})
    if "application/json" in content and method != "HEAD":
        validator(found["operationId"], status).validate(json.loads(response.content))


def hold_envelope(response: HttpResponse) -> None:
    if response.status_code >= 400:
        assert response["Content-Type"] == "application/json"
        assert set(json.loads(response.content)) == ENVELOPE
