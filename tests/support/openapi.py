"""Checks the API's answers against its description: status, error code, headers and body."""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator

ANSWERS_OF_EVERY_ADDRESS = {405: "METHOD_NOT_ALLOWED"}
GENERATOR: Any = SchemaGenerator  # without types
ENVELOPE = {"success", "error", "message", "request_id", "details"}


def generate() -> dict[str, Any]:
    """The description as the code generates it now."""
    generated: dict[str, Any] = json.loads(json.dumps(GENERATOR().get_schema(request=None, public=True)))
    return generated


@cache
def description() -> dict[str, Any]:
    return generate()


@cache
def templates() -> list[tuple[re.Pattern[str], str]]:
    """Each path of the description, with the pattern of its addresses."""
    return [(re.compile(re.sub(r"\\{\w+\\}", "(.+)", re.escape(path))), path) for path in description()["paths"]]


def operation_at(method: str, address: str) -> dict[str, Any] | None:
    """The operation that the description has for a call; None for an address or a method that is not in the API."""
    matching = [path for pattern, path in templates() if pattern.fullmatch(address.partition("?")[0])]
    exact = [path for path in matching if "{" not in path] or sorted(matching, key=len, reverse=True)
    described: dict[str, Any] | None = description()["paths"][exact[0]].get(method.lower()) if exact else None
    return described


@cache
def validator(name: str, status: str) -> jsonschema_rs.Validator:
    """A validator for the JSON that an operation answers with a status."""
    content = operation(name)["responses"][status]["content"]["application/json"]
    return validator_of(json.dumps(content["schema"]))


@cache
def validator_of(schema: str) -> jsonschema_rs.Validator:
    """A validator for a schema of the description, which is passed as JSON."""
    complete_schema = {**json.loads(schema), "components": description()["components"]}
    return jsonschema_rs.validator_for(complete_schema, validate_formats=True)


def webhook_validator(kind: str) -> jsonschema_rs.Validator:
    """A validator for the body of a webhook event."""
    content = description()["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    return validator_of(json.dumps(content["schema"]))


def operation(name: str) -> dict[str, Any]:
    return next(
        each for item in description()["paths"].values() for each in item.values() if each["operationId"] == name
    )


def check_response(response: HttpResponse, *, method: str, address: str) -> None:
    """Fail unless the description has this answer."""
    assert response["X-Request-ID"]
    described = operation_at(method, address)
    if described is None or response.status_code in ANSWERS_OF_EVERY_ADDRESS:
        check_error_envelope(response)
        return
    status = str(response.status_code)
    assert status in described["responses"], (
        f"{described['operationId']} does not describe {status}: {response.content!r}"
    )
    for name in described["responses"][status]["headers"]:
        assert name in response.headers or name in {"Link", "Content-Language"}
    content = described["responses"][status].get("content", {})
    assert response.headers.get("Content-Type") in (content or {None})
    if "application/json" in content and method != "HEAD":
        validator(described["operationId"], status).validate(json.loads(response.content))


def check_error_envelope(response: HttpResponse) -> None:
    if response.status_code >= 400:
        assert response["Content-Type"] == "application/json"
        assert set(json.loads(response.content)) == ENVELOPE
