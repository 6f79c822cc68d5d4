"""The API's description is complete and valid, and its examples conform to it."""

import json
import re

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator

from config.schema import SECURITY_SCHEMES, TAGS, error_table
from tests.support import openapi

OPERATIONS = [each for item in openapi.description()["paths"].values() for each in item.values()]
NAMES = [each["operationId"] for each in OPERATIONS]
STATUS = {code: kind.status for code, kind in error_table().items()}


def operation_id(operation):
    return operation["operationId"]


def answers_in_json(operation):
    contents = [
        each["content"] for status, each in operation["responses"].items() if status < "3" and "content" in each
    ]
    return [content["application/json"] for content in contents if "application/json" in content]


def assert_examples_are_valid(content):
    assert content["examples"]
    for example in content["examples"].values():
        openapi.validator_of(json.dumps(content["schema"])).validate(example["value"])


# --- Content ---------------------------------------------------------------------------------------------------------


def test_schema_is_valid_and_generated_without_warnings(tmp_path):
    file = tmp_path / "schema.yaml"

    call_command("spectacular", validate=True, fail_on_warn=True, file=str(file))

    assert file.read_text().startswith("openapi: 3.1")


def test_every_route_of_the_api_is_described():
    served = {re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes(get_resolver().url_patterns)}

    assert set(openapi.description()["paths"]) == served - {"/api/schema", "/api/docs"}


def routes(patterns, prefix="/"):
    """The routes of the API, and the health probes."""
    for each in patterns:
        route = prefix + str(each.pattern)
        if hasattr(each, "url_patterns"):
            yield from routes(each.url_patterns, route) if route == "/api/v1/" else []
        elif route.startswith("/api/") or route in {"/healthz", "/readyz"}:
            yield route


def test_schema_is_served_as_yaml_and_as_json():
    as_yaml = Client().get("/api/schema")
    as_json = Client().get("/api/schema", headers={"Accept": "application/json"})

    assert as_yaml.content.startswith(b"openapi: 3.1")
    assert as_json.json() == openapi.generate()


@pytest.mark.parametrize(
    "accept", ["application/vnd.oai.openapi", "application/vnd.oai.openapi+json", "application/json"]
)
def test_schema_is_generated_once_for_all_queries_and_languages(monkeypatch, accept):
    """Generating it takes half a second, and anyone may request it."""
    headers = {"Accept": accept}
    first = Client().get("/api/schema", headers=headers)
    monkeypatch.setattr(SchemaGenerator, "get_schema", None)

    again = Client().get("/api/schema?lang=de&version=7", headers={**headers, "Accept-Language": "de"})

    assert again.content == first.content
    assert again["Content-Type"].startswith(accept)
    assert (again["Cache-Control"], again["Vary"]) == ("public, max-age=3600", "Accept")


def test_docs_page_loads_nothing_from_other_hosts():
    page = Client().get("/api/docs").content.decode() + Client().get("/api/docs?script=").content.decode()

    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page) == []
    assert "swagger-ui-bundle.js" in page
    assert '"validatorUrl": null' in page


def test_operation_ids_are_unique_and_tags_and_schemes_are_declared():
    assert len(set(NAMES)) == len(NAMES)
    assert {tag for each in OPERATIONS for tag in each["tags"]} == {tag["name"] for tag in TAGS}
    used = {scheme for each in OPERATIONS for alternative in each["security"] for scheme in alternative}
    assert used == set(SECURITY_SCHEMES)


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_endpoint_describes_its_purpose_and_needs(operation):
    assert operation["summary"]
    assert "**Needs**" in operation["description"]
    assert all(response["description"] for response in operation["responses"].values())


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_every_error_code_has_an_example_of_its_status(operation):
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            content = response["content"]["application/json"]
            codes = re.findall(r'"enum": \[(.*?)\]|"(AUTH_CODE_INVALID)"', json.dumps(content["schema"]))
            assert set(content["examples"]) >= {
                code.strip('" ') for groups in codes for code in groups[0].split(",") if code
            }
            for code, example in content["examples"].items():
                assert (example["value"]["error"], STATUS[code]) == (code, int(status))
                openapi.validator_of(json.dumps(content["schema"])).validate(example["value"])


def takes_json(operation):
    return "application/json" in operation.get("requestBody", {}).get("content", {})


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if takes_json(each)], ids=operation_id)
def test_example_requests_conform_to_the_schema(operation):
    assert_examples_are_valid(operation["requestBody"]["content"]["application/json"])


def test_only_uploads_have_a_body_that_is_not_json():
    uploads = [each["operationId"] for each in OPERATIONS if "requestBody" in each and not takes_json(each)]

    assert uploads == ["upload_import"]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if answers_in_json(each)], ids=operation_id)
def test_example_answers_conform_to_the_schema(operation):
    for content in answers_in_json(operation):
        assert_examples_are_valid(content)


# --- Validation in tests ---------------------------------------------------------------------------------------------


def answer(status, body, **headers):
    return openapi.HttpResponse(
        json.dumps(body), status=status, content_type="application/json", headers={"X-Request-ID": "x", **headers}
    )


ERROR = {"success": False, "error": "NOT_FOUND", "message": "m", "request_id": "x", "details": {}}
UNDESCRIBED = {
    "a status that is not described": answer(402, ERROR),
    "a code that is not described": answer(404, {**ERROR, "error": "USER_NOT_FOUND"}),
    "a member too few": answer(404, {"success": False, "error": "NOT_FOUND", "message": "m"}),
    "another shape": answer(200, {"success": True, "data": []}),
    "a header too few": answer(401, {**ERROR, "error": "TOKEN_INVALID"}),
}


@pytest.mark.parametrize("response", UNDESCRIBED.values(), ids=UNDESCRIBED)
def test_undescribed_answer_fails_the_test_that_gets_it(response):
    with pytest.raises((AssertionError, openapi.jsonschema_rs.ValidationError)):
        openapi.check_response(response, method="GET", address="/api/v1/customer/loyalty/points")


def test_described_answer_passes():
    openapi.check_response(answer(404, ERROR), method="GET", address="/api/v1/customer/loyalty/points")
