"""Every error is answered in the envelope, wherever it was raised."""

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
from tests.core.api.error_views import SECRET, RaisingView, error_of, response_to
from tests.support.locks import locked_by_another_session, short_lock_timeout

pytestmark = pytest.mark.urls("tests.core.api.error_views")


# --- Domain errors --------------------------------------------------------------------------------------------------


def domain_errors():
    """Every class of domain errors in every app, wherever it is defined."""
    for app in (core, brands, jobs, events, portal, campaigns, loyalty, authcodes):
        for module in pkgutil.walk_packages(app.__path__, f"{app.__name__}."):
            importlib.import_module(module.name)
    kinds = [DomainError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return set(kinds) - {DomainError, StoredError}  # a StoredError has the code that it was stored with


def test_every_domain_error_declares_its_code_and_status():
    assert all(kind.code and kind.status for kind in domain_errors())


def test_error_code_has_one_status():
    """Whichever of its classes was raised."""
    declared = {(kind.code, kind.status) for kind in domain_errors()}

    assert len(declared) == len({code for code, _status in declared})


def test_statuses_are_known_http_errors():
    statuses = {kind.status for kind in domain_errors()}

    assert all(HttpResponse(status=status).reason_phrase != "Unknown Status Code" for status in statuses)
    assert all(400 <= status < 600 for status in statuses)


@pytest.mark.parametrize(("code", "status"), sorted({(kind.code, kind.status) for kind in domain_errors()}))
def test_domain_error_is_answered_with_its_status(code, status):
    raised = type("Kind", (DomainError,), {"code": code, "status": status})

    response = response_to(raised("No.", details={"why": "because"}))

    assert response.status_code == status
    assert response.json() == {
        "success": False,
        "error": code,
        "message": "No.",
        "request_id": response["X-Request-ID"],
        "details": {"why": "because"},
    }


def test_domain_error_may_add_fields_to_the_envelope():
    error = AuthCodeInvalid("Not valid.", extra={"status": "error", "support_email": "help@example.com"})

    body = response_to(error).json()

    assert (body["error"], body["status"], body["support_email"]) == ("AUTH_CODE_INVALID", "error", "help@example.com")


@pytest.mark.parametrize(("error", "status"), [(RateLimited(retry_after=17), 429), (Unavailable(retry_after=17), 503)])
def test_error_with_a_delay_sets_the_retry_after_header(error, status):
    response = response_to(error)

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
def test_django_and_drf_errors_use_the_envelope(error, status, code):
    response = response_to(error)

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
def test_serializer_error_names_its_fields(detail, message, fields):
    body = response_to(serializers.ValidationError(detail)).json()

    assert (body["error"], body["message"], body["details"]) == ("VALIDATION_ERROR", message, {"fields": fields})


# --- Bugs and outages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_unexpected_error_is_logged_and_hidden_from_the_caller(address, caplog):
    response = response_to(RuntimeError(SECRET), address, **{"Accept": "application/json", "X-Request-ID": "abc"})

    assert error_of(response) == (500, "INTERNAL_ERROR")
    assert response.json()["request_id"] == response["X-Request-ID"] != "abc"
    assert SECRET not in response.content.decode()
    assert f"RuntimeError: {SECRET}\nRequest id: {response['X-Request-ID']}" in caplog.text


def test_unexpected_error_propagates_in_tests():
    RaisingView.error = RuntimeError("surfaces")

    with pytest.raises(RuntimeError, match="surfaces"):
        Client().get("/api/raises")


@pytest.fixture
def unreachable_database_error(db):
    """The error that Django raises when the database is unreachable."""
    unreachable_connection = connection.copy()
    unreachable_connection.settings_dict["HOST"] = "/nowhere"
    with pytest.raises(OperationalError) as error:
        unreachable_connection.ensure_connection()
    return error.value


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_unreachable_database_is_answered_as_unavailable(unreachable_database_error, address):
    response = response_to(unreachable_database_error, address, Accept="application/json")

    assert error_of(response) == (503, "UNAVAILABLE")
    assert response["Retry-After"] == "5"
    assert "nowhere" not in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_terminated_database_session_is_answered_as_unavailable():
    with pytest.raises(OperationalError) as error, connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    connection.close()

    assert error_of(response_to(error.value)) == (503, "UNAVAILABLE")


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_lock_timeout_is_answered_as_unavailable(db, address):
    lock = "SELECT pg_advisory_xact_lock(1)"
    with (
        locked_by_another_session(lock),
        short_lock_timeout(),
        pytest.raises(OperationalError) as error,
        transaction.atomic(),
    ):
        connection.cursor().execute(lock)

    response = response_to(error.value, address)
    body = response.content.decode()

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "Try again." in body
    assert ("<h1>Temporarily unavailable</h1>" in body, "UNAVAILABLE" in body) == (
        address == "/page",
        address != "/page",
    )


@pytest.mark.parametrize("address", ["/api/raises", "/page"])
def test_statement_timeout_is_answered_with_advice_to_narrow_the_query(db, address):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 1")
        with pytest.raises(OperationalError) as error:
            cursor.execute("SELECT pg_sleep(1)")

    response = response_to(error.value, address)

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert exception_handler.TOO_SLOW in response.content.decode()


# --- Django's own answers --------------------------------------------------------------------------------------------


def test_unknown_api_url_uses_the_envelope():
    assert error_of(Client().get("/api/v1/nothing")) == (404, "NOT_FOUND")


def test_unknown_host_uses_the_envelope():
    assert error_of(Client().get("/api/raises", headers={"Host": "evil.example.com"})) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(("accept", "kind"), [("text/html", "html"), ("*/*", "html"), ("application/json", "json")])
def test_error_format_follows_the_accept_header(accept, kind):
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
def test_error_page_has_the_request_id_and_no_script(error, status):
    response = response_to(error, "/page")
    text = response.content.decode()

    assert response.status_code == status
    assert "<h1>" in text
    assert response["X-Request-ID"] in text
    assert SECRET not in text
    for unwanted in ("<script", "http://", "https://", "{%", "{{"):
        assert unwanted not in text


def test_error_page_needs_no_database():
    """This test has no database access."""
    assert response_to(RuntimeError(), "/page").status_code == 500


def test_csrf_failure_is_json_for_the_api_and_html_for_pages():
    request = RequestFactory().post("/api/x")

    assert json.loads(exception_handler.csrf_failure(request, "no cookie").content)["error"] == "FORBIDDEN"
    assert b"<h1>" in exception_handler.csrf_failure(RequestFactory().post("/form")).content


def test_missing_token_is_answered_with_a_bearer_challenge():
    response = Client().get("/api/members")

    assert error_of(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response["WWW-Authenticate"] == "Bearer"
