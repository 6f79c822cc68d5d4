"""Every error wears the envelope, whoever raised it and wherever."""

import importlib
import json
import pkgutil

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.db import OperationalError, connection, transaction
from django.http import Http404, HttpResponse
from django.test import Client, RequestFactory
from rest_framework import exceptions, serializers

import authcodes
import brands
import campaigns
import core
import events
import jobs
import loyalty
import portal
from authcodes.errors import AuthCodeInvalid
from campaigns.intake.campaign_event import StoredError
from core.api import exception_handler
from core.errors import DomainError, RateLimited, Unavailable
from tests.core.api.error_views import SECRET, Raises, answer_to, error_of
from tests.support.locks import holding, impatient

pytestmark = pytest.mark.urls("tests.core.api.error_views")


# --- Refusals -------------------------------------------------------------------------------------------------------


def refusals():
    """Every kind of refusal of every app, wherever it is defined."""
    for app in (core, brands, jobs, events, portal, campaigns, loyalty, authcodes):
        for module in pkgutil.walk_packages(app.__path__, f"{app.__name__}."):
            importlib.import_module(module.name)
    kinds = [DomainError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return set(kinds) - {DomainError, StoredError}  # a stored one has the code that it was stored with


def test_every_refusal_declares_its_code_and_status():
    assert all(kind.code and kind.status for kind in refusals())


def test_code_has_one_status():
    """Whichever kind of it was raised."""
    declared = {(kind.code, kind.status) for kind in refusals()}

    assert len(declared) == len({code for code, _status in declared})


def test_statuses_are_errors_that_http_knows():
    statuses = {kind.status for kind in refusals()}

    assert all(HttpResponse(status=status).reason_phrase != "Unknown Status Code" for status in statuses)
    assert all(400 <= status < 600 for status in statuses)


@pytest.mark.parametrize(("code", "status"), sorted({(kind.code, kind.status) for kind in refusals()}))
def test_refusal_is_answered_with_its_status(code, status):
    raised = type("Kind", (DomainError,), {"code": code, "status": status})

    response = answer_to(raised("No.", details={"why": "because"}))

    assert response.status_code == status
    assert response.json() == {
        "success": False,
        "error": code,
        "message": "No.",
        "request_id": response["X-Request-ID"],
        "details": {"why": "because"},
    }


def test_refusal_may_add_members_of_its_own():
    refusal = AuthCodeInvalid("Not valid.", extra={"status": "error", "support_email": "help@example.com"})

    body = answer_to(refusal).json()

    assert (body["error"], body["status"], body["support_email"]) == ("AUTH_CODE_INVALID", "error", "help@example.com")


@pytest.mark.parametrize(("error", "status"), [(RateLimited(retry_after=17), 429), (Unavailable(retry_after=17), 503)])
def test_caller_is_told_when_to_come_back(error, status):
    response = answer_to(error)

    assert (response.status_code, response["Retry-After"]) == (status, "17")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (exceptions.NotAuthenticated(), 401, "AUTHENTICATION_REQUIRED"),
        (exceptions.AuthenticationFailed(), 401, "TOKEN_INVALID"),
        (exceptions.PermissionDenied(), 403, "FORBIDDEN"),
        (PermissionDenied(SECRET), 403, "FORBIDDEN"),
        (exceptions.NotFound(), 404, "NOT_FOUND"),
        (Http404(SECRET), 404, "NOT_FOUND"),
        (exceptions.MethodNotAllowed("GET"), 405, "METHOD_NOT_ALLOWED"),
        (exceptions.NotAcceptable(), 406, "NOT_ACCEPTABLE"),
        (exceptions.UnsupportedMediaType("text/x"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (exceptions.Throttled(wait=3), 429, "RATE_LIMITED"),
        (exceptions.ParseError(SECRET), 400, "VALIDATION_ERROR"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_django_and_drf_wear_the_envelope(error, status, code):
    response = answer_to(error)

    assert error_of(response) == (status, code)
    assert set(response.json()) == {"success", "error", "message", "request_id", "details"}
    assert SECRET not in response.content.decode()


# --- Validation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("detail", "message", "fields"),
    [
        ({"code": ["Too long."]}, "code: Too long.", {"code": ["Too long."]}),
        ({"a": {"b": {"c": ["No."]}}}, "a.b.c: No.", {"a": {"b": {"c": ["No."]}}}),
        ({"a": [{}, {"b": ["No."]}]}, "a.b: No.", {"a": [{}, {"b": ["No."]}]}),
        ({"a": {"non_field_errors": ["No."]}}, "a: No.", {"a": {"non_field_errors": ["No."]}}),
        ("No.", "No.", {"non_field_errors": ["No."]}),
        ([], "[]", {"non_field_errors": []}),
    ],
)
def test_serializers_complaint_names_its_fields(detail, message, fields):
    body = answer_to(serializers.ValidationError(detail)).json()

    assert (body["error"], body["message"], body["details"]) == ("VALIDATION_ERROR", message, {"fields": fields})


# --- Bugs and outages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_bug_is_answered_without_its_cause_and_logged_with_it(address, caplog):
    response = answer_to(RuntimeError(SECRET), address, **{"Accept": "application/json", "X-Request-ID": "abc"})

    assert error_of(response) == (500, "INTERNAL_ERROR")
    assert response.json()["request_id"] == response["X-Request-ID"] != "abc"
    assert SECRET not in response.content.decode()
    assert f"RuntimeError: {SECRET}\nRequest id: {response['X-Request-ID']}" in caplog.text


def test_bug_surfaces_in_tests():
    Raises.error = RuntimeError("surfaces")

    with pytest.raises(RuntimeError, match="surfaces"):
        Client().get("/api/raises")


@pytest.fixture
def unreachable(db):
    """What Django raises when nobody listens where the database should be."""
    elsewhere = connection.copy()
    elsewhere.settings_dict["HOST"] = "/nowhere"
    with pytest.raises(OperationalError) as error:
        elsewhere.ensure_connection()
    return error.value


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_database_out_of_reach_is_unavailable(unreachable, address):
    response = answer_to(unreachable, address, Accept="application/json")

    assert error_of(response) == (503, "UNAVAILABLE")
    assert response["Retry-After"] == "5"
    assert "nowhere" not in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_database_that_shuts_down_meanwhile_is_unavailable():
    with pytest.raises(OperationalError) as error, connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    connection.close()

    assert error_of(answer_to(error.value)) == (503, "UNAVAILABLE")


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_what_another_change_holds_is_unavailable(db, address):
    lock = "SELECT pg_advisory_xact_lock(1)"
    with holding(lock), impatient(), pytest.raises(OperationalError) as error, transaction.atomic():
        connection.cursor().execute(lock)

    response = answer_to(error.value, address)
    body = response.content.decode()

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "Try again." in body
    assert ("<h1>Temporarily unavailable</h1>" in body, "UNAVAILABLE" in body) == (
        address == "/page",
        address != "/page",
    )


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_statement_that_takes_too_long_is_stopped_and_says_what_to_narrow(db, address):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 1")
        with pytest.raises(OperationalError) as error:
            cursor.execute("SELECT pg_sleep(1)")

    response = answer_to(error.value, address)

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert exception_handler.TOO_SLOW in response.content.decode()


# --- Django's own answers --------------------------------------------------------------------------------------------


def test_unknown_address_of_the_api_wears_the_envelope():
    assert error_of(Client().get("/api/v1/nothing")) == (404, "NOT_FOUND")


def test_unknown_host_wears_the_envelope():
    assert error_of(Client().get("/api/raises", headers={"Host": "evil.example.com"})) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(("accept", "kind"), [("text/html", "html"), ("*/*", "html"), ("application/json", "json")])
def test_people_get_a_page_and_programs_the_envelope(accept, kind):
    response = Client().get("/nothing", headers={"Accept": accept})

    assert response.status_code == 404
    assert kind in response["Content-Type"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (PermissionDenied(), 403),
        (Http404(), 404),
        (BadRequest(), 400),
        (RequestDataTooBig(), 413),
        (RuntimeError(SECRET), 500),
    ],
)
def test_page_of_an_error_is_small_and_has_no_script(error, status):
    response = answer_to(error, "/page")
    text = response.content.decode()

    assert response.status_code == status
    assert "<h1>" in text
    assert response["X-Request-ID"] in text
    assert SECRET not in text
    assert not {"<script", "http://", "https://", "{%"} & set(text.split())


def test_error_pages_ask_no_database():
    """This test has no access to one."""
    assert answer_to(RuntimeError(), "/page").status_code == 500


def test_failed_csrf_check_is_told_to_programs_and_people():
    request = RequestFactory().post("/api/x")

    assert json.loads(exception_handler.csrf_failure(request, "no cookie").content)["error"] == "FORBIDDEN"
    assert b"<h1>" in exception_handler.csrf_failure(RequestFactory().post("/form")).content


def test_missing_token_is_asked_for():
    response = Client().get("/api/members")

    assert error_of(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response["WWW-Authenticate"] == "Bearer"
