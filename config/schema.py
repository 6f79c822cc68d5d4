"""The API's description (OpenAPI 3.1): what drf-spectacular cannot find in a view, and what all endpoints share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.module_loading import import_string
from drf_spectacular.plumbing import get_lib_doc_excludes

from core.api.inputs import Input
from core.api.openapi.endpoint import KEY_AND_BEARER, PUBLIC, raised_by
from core.api.openapi.shared_examples import REQUEST_ID
from core.api.outputs import Output
from core.errors import DomainError, error_classes

Schema = dict[str, Any]

# Errors of any endpoint, of those with a body, and endpoints whose answer to an invalid code has two shapes.
ALWAYS = ["VALIDATION_ERROR", "NOT_ACCEPTABLE", "INTERNAL_ERROR", "UNAVAILABLE"]
WITH_A_BODY = ["PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]
WITH_A_PATH = ["NOT_FOUND"]
SCANS = {"verify_product", "scan_code"}
MAY_COME_WITHOUT_A_BODY = {"verify_product"}
SUCCESS = {"200": "Done.", "201": "Created.", "202": "Accepted.", "204": "Done. The answer has no body."}
SUCCESS["304"] = "Not modified: `If-None-Match` has the current `ETag`."
# Endpoints that do not answer with JSON, and accept every Accept header.
FILES = {"read_qr_image", "read_qr_image_svg", "read_apple_pass", "export_resource", "download_import_errors"}

# Accepted where customers are answered; always optional.
ACCEPT_LANGUAGE: dict[str, Any] = {
    "name": "Accept-Language",
    "in": "header",
    "description": "The customer's language: en, de or ar. Defaults to the profile's language, then to the brand's.",
    "schema": {"type": "string"},
}
LANGUAGE_TAGS = {"Tokens", "Scanning", "Account", "Rewards"}

NEEDS = {
    "bearer": "an access token (`Authorization: Bearer ...`)",
    "apiKey": "an `api-key`",
    "session": "a session of the portal",
}
SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The access token from `log_in`, which identifies a user at one brand for a short time.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "api-key",
        "description": "The brand's API key. A hub key is secret and trusted; an app key is published with an app.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": settings.SESSION_COOKIE_NAME,
        "description": "The session cookie of staff who are logged in to the portal.",
    },
}
TAGS = [
    {"name": "Tokens", "description": "Registration, login and logout."},
    {"name": "Scanning", "description": "Check whether a product is genuine, and earn points with its scan."},
    {"name": "Account", "description": "A customer's points, campaigns, profile and data."},
    {"name": "Brand", "description": "Data that the brand's own systems and staff read and change."},
    {"name": "Rewards", "description": "What points buy, and the redemption codes that a till accepts."},
    {"name": "Wallets", "description": "A customer's card in Apple's and Google's wallets."},
    {"name": "Points", "description": "Actions that earn points, referrals and transfers."},
    {"name": "Codes", "description": "Codes and their scans, for the brand."},
    {"name": "Service", "description": "Health checks for the operator of the service."},
]
HEADERS = {
    "X-Request-ID": {
        "description": "The request's id in our logs, made by us. The caller's own `X-Request-ID` is logged with it.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Content-Language": {
        "description": "The language of the answer's texts, if it has any, as requested by `Accept-Language`.",
        "schema": {"type": "string", "enum": [code for code, _name in settings.LANGUAGES]},
    },
    "Retry-After": {
        "description": "Seconds to wait before sending the request again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}},
}
# Headers of webhook calls (Standard Webhooks).
WEBHOOK_HEADERS = {
    "WebhookId": {
        "name": "webhook-id",
        "in": "header",
        "required": True,
        "description": "The event's id, the same for each attempt and resend.",
        "schema": {"type": "string"},
    },
    "WebhookTimestamp": {
        "name": "webhook-timestamp",
        "in": "header",
        "required": True,
        "description": "When this attempt was made, as a Unix timestamp in seconds.",
        "schema": {"type": "integer"},
    },
    "WebhookSignature": {
        "name": "webhook-signature",
        "in": "header",
        "required": True,
        "description": "`v1,` and the base64-encoded HMAC-SHA256; after a rotation, two of them, separated by a space.",
        "schema": {"type": "string"},
    },
}
# Named, because generators of clients would create a new type for each inline copy.
ERROR_DETAILS: Schema = {
    "type": "object",
    "description": "More about the error; `fields` has the messages about a body, by field.",
}
INVALID_CODE: Schema = {
    "description": "The error of a scan, with the members of an error and of a scan's answer.",
    "allOf": [
        {"$ref": "#/components/schemas/ErrorAnswer"},
        {
            "type": "object",
            "properties": {
                "error": {"enum": ["AUTH_CODE_INVALID"]},
                "status": {"const": "error"},
                "support_email": {"type": "string", "format": "email"},
                "scan_id": {"type": "string", "format": "uuid"},
            },
            "required": ["status", "support_email", "scan_id"],
        },
    ],
}


# Latitude and longitude only come together, which serializers cannot express.
HERE: Schema = {
    "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number"}},
    "required": ["latitude", "longitude"],
}
WITH_A_LATITUDE: Schema = {"properties": {"latitude": {"type": "number"}}, "required": ["latitude"]}
NOWHERE: Schema = {"properties": {"latitude": {"type": "null"}, "longitude": {"type": "null"}}}
OTHER_PAYLOAD: Schema = {
    "type": "object",
    "description": "The payload of any other kind of event, which is stored; only the brand's own kinds earn.",
}


def complete(result: Schema, generator: Any, **_: Any) -> Schema:
    """drf-spectacular's postprocessing hook."""
    result["info"]["description"] = render_to_string("api.md", {"errors": table()})
    result["tags"] = TAGS
    components = result.setdefault("components", {})
    components["securitySchemes"] = SECURITY_SCHEMES
    components["headers"] = HEADERS
    # The library collects the schemas before those of webhooks.
    components["schemas"] |= generator.registry.build({})["schemas"]
    components["parameters"] = {"Accept-Language": ACCEPT_LANGUAGE, **WEBHOOK_HEADERS}
    components["schemas"] |= {"ErrorAnswer": error_answer(), "ErrorDetails": ERROR_DETAILS, "InvalidCode": INVALID_CODE}
    components["schemas"]["LocationInput"] |= {"if": WITH_A_LATITUDE, "then": HERE, "else": NOWHERE}
    payloads = components["schemas"].pop("Payload")["oneOf"]
    components["schemas"]["Payload"] = {"anyOf": [*payloads, OTHER_PAYLOAD]}
    for operation in operations(result):
        describe(operation)
    for item in result["webhooks"].values():
        describe_webhook(item["post"])
    strip(result)
    return result


def error_answer() -> Schema:
    """The error envelope with all codes."""
    return {
        "type": "object",
        "description": "The body of every error, whatever its status.",
        "properties": {
            "success": {"type": "boolean", "const": False},
            "error": {
                "type": "string",
                "enum": list(error_table()),
                "description": "The error code, for programs; it does not change.",
            },
            "message": {"type": "string", "description": "The error message, for people; it may change."},
            "request_id": {"type": "string"},
            "details": {"$ref": "#/components/schemas/ErrorDetails"},
        },
        "required": ["success", "error", "message", "request_id", "details"],
    }


def error_table() -> dict[str, type[DomainError]]:
    """The representative class of each code, by status. Complete once the URLs are loaded."""
    return dict(sorted(error_classes().items(), key=lambda each: (each[1].status, each[0])))


def undocumented() -> list[type]:
    """Classes whose docstrings describe our code, and would otherwise appear in the schema of their subclasses."""
    return [*get_lib_doc_excludes(), Input, Output]  # type: ignore[no-untyped-call]


def strip(part: Any) -> None:
    """Remove drf-spectacular's internal markers."""
    if isinstance(part, dict):
        part.pop("x-spec-enum-id", None)
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        strip(inner)


def operations(result: Schema) -> Iterator[Schema]:
    return (operation for item in result["paths"].values() for operation in item.values())


def describe(operation: Schema) -> None:
    """Add security, errors, response headers, and examples."""
    name, needs, codes = operation["operationId"], operation.pop("x-needs"), operation.pop("x-errors")
    examples, kinds = operation.pop("x-error-examples"), operation.pop("x-delivers")
    codes += [error.code for kind in kinds for error in raised_by(import_string(settings.EVENT_HANDLERS[kind]))]
    operation["security"] = [{scheme: [] for scheme in alternative} for alternative in needs]
    operation["description"] += f"\n\n**Needs** {describe_needs(needs)}."
    if "requestBody" in operation:
        operation["requestBody"]["required"] = name not in MAY_COME_WITHOUT_A_BODY
    for status, response in operation["responses"].items():
        response["description"] = SUCCESS[status]
        response.setdefault("headers", {})["X-Request-ID"] = header("X-Request-ID")
    if speaks_to_customers(operation):
        operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/Accept-Language"})
        for response in operation["responses"].values():
            response["headers"]["Content-Language"] = header("Content-Language")
    for failure, errors in groupby(all_errors(operation, needs, codes), key=attrgetter("status")):
        operation["responses"][str(failure)] = error_response(name, failure, list(errors), examples)
    operation["responses"] = dict(sorted(operation["responses"].items()))


def describe_webhook(operation: Schema) -> None:
    """Add the headers of each call. Receivers need no login."""
    operation["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in WEBHOOK_HEADERS]
    operation["requestBody"]["required"] = True
    operation["responses"] = {"204": {"description": "Received. Any other status from 200 to 299 means the same."}}
    operation["security"] = []


def speaks_to_customers(operation: Schema) -> bool:
    """Whether customers read the answers, and not only a brand's programs."""
    return bool(LANGUAGE_TAGS & set(operation["tags"])) and operation["security"] != [{"apiKey": []}]


def describe_needs(needs: Sequence[Sequence[str]]) -> str:
    """The credentials that every alternative needs, and the optional ones; or that one of several is needed."""
    always = [name for name in NEEDS if all(name in alternative for alternative in needs)]
    sometimes = [NEEDS[name] for name in NEEDS if name not in always and any(name in each for each in needs)]
    if not always and all(needs):
        return f"one of {', '.join(sometimes)}"
    text = " and ".join(NEEDS[name] for name in always) or "nothing"
    return f"{text}; optionally {', '.join(sometimes)}" if sometimes else text


def all_errors(operation: Schema, needs: Sequence[Sequence[str]], own: Iterable[str]) -> list[type[DomainError]]:
    """The endpoint's own errors, and those that follow from its properties, in the order of the table."""
    where = {parameter.get("in") for parameter in operation.get("parameters", [])}
    also = [*ALWAYS, *(WITH_A_BODY if "requestBody" in operation else []), *(WITH_A_PATH if "path" in where else [])]
    if operation["operationId"] in FILES:
        also.remove("NOT_ACCEPTABLE")
    if "Service" not in operation["tags"]:
        also.append("RATE_LIMITED")
    return [kind for code, kind in error_table().items() if code in {*also, *own, *of_credentials(needs)}]


def of_credentials(needs: Sequence[Sequence[str]]) -> list[str]:
    """Errors about credentials: invalid ones, a key and a token of two brands, or missing ones."""
    named = {scheme for alternative in needs for scheme in alternative}
    codes = [*(["API_KEY_INVALID"] if "apiKey" in named else []), *(["TOKEN_INVALID"] if "bearer" in named else [])]
    if PUBLIC not in needs and named != {"apiKey"}:
        codes.append("AUTHENTICATION_REQUIRED")
    return [*codes, *(["BRAND_MISMATCH"] if KEY_AND_BEARER in needs else [])]


def error_response(name: str, status: int, kinds: list[type[DomainError]], members: Mapping[str, Any]) -> Schema:
    """A response with an example for each of its errors."""
    extra = ["Retry-After"] if status in {429, 503} else ["WWW-Authenticate"] if status == 401 else []
    examples = {kind.code: {"value": {**example(kind), **members.get(kind.code, {})}} for kind in kinds}
    content = {"schema": error_schema(name, [kind.code for kind in kinds]), "examples": examples}
    return {
        "description": "\n".join(f"- `{kind.code}`: {in_markdown(str(kind.default_message))}" for kind in kinds),
        "headers": {each: header(each) for each in ["X-Request-ID", *extra]},
        "content": {"application/json": content},
    }


def error_schema(name: str, codes: list[str]) -> Schema:
    """The error envelope, restricted to these codes."""
    both_shapes = name in SCANS and "AUTH_CODE_INVALID" in codes
    plain = [code for code in codes if not (both_shapes and code == "AUTH_CODE_INVALID")]
    envelope = {"allOf": [{"$ref": "#/components/schemas/ErrorAnswer"}, {"properties": {"error": {"enum": plain}}}]}
    # The stricter schema comes first: clients use the first that matches.
    return {"oneOf": [{"$ref": "#/components/schemas/InvalidCode"}, envelope]} if both_shapes else envelope


def example(kind: type[DomainError]) -> Schema:
    return {
        "success": False,
        "error": kind.code,
        "message": str(kind.default_message),
        "request_id": REQUEST_ID,
        "details": kind.example_details,
    }


def in_markdown(text: str) -> str:
    """Escape angle brackets, which Markdown takes for HTML."""
    return text.replace("<", r"\<")


def header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


def table() -> list[dict[str, Any]]:
    """All codes with status and message, for the introduction."""
    return [
        {"code": code, "status": kind.status, "message": in_markdown(str(kind.default_message))}
        for code, kind in error_table().items()
    ]
