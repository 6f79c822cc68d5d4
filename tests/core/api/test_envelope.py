"""Every error wears the envelope, whoever raised it and wherever; a body is refused before it can do harm."""

import importlib
import io
import json
import pkgutil
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.core.wsgi import get_wsgi_application
from django.db import OperationalError, connection, transaction
from django.http import Http404, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from django.utils.translation import gettext_lazy
from rest_framework import exceptions, serializers
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

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
from core.api import exception_handler, json_codec
from core.errors import DomainError, RateLimited, Unavailable
from core.web.middleware import WholeBodies
from tests.support.locks import holding, impatient

pytestmark = pytest.mark.urls(__name__)

handler400, handler403, handler404, handler500 = (
    exception_handler.handler400,
    exception_handler.handler403,
    exception_handler.handler404,
    exception_handler.handler500,
)
SECRET = "the table secret_things does not exist"


class Raises(APIView):
    """Answers with the error that the test has put here."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    error: Exception

    def get(self, *_):
        raise Raises.error


class Echo(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def post(self, request):
        return Response({"received": request.data})


class MembersOnly(APIView):
    def get(self, *_):
        return Response({})


def page(request):
    raise Raises.error


urlpatterns = [
    path("api/raises", Raises.as_view()),
    path("api/echo", Echo.as_view()),
    path("api/members", MembersOnly.as_view()),
    path("page", page),
]


def answer_to(error, address="/api/raises", **headers):
    Raises.error = error
    return Client(raise_request_exception=False).get(address, headers=headers)


def post(body, content_type="application/json", **headers):
    return Client(raise_request_exception=False).post("/api/echo", body, content_type=content_type, headers=headers)


def error_of(response):
    return response.status_code, response.json()["error"]


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
    words = response.content.decode()

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "Try again." in words
    assert ("<h1>Temporarily unavailable</h1>" in words, "UNAVAILABLE" in words) == (
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


# --- Reading bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": "ABC0001"},
        {"text": "café 日本 🎉 \n"},
        {"number": 2**63 - 1, "other": -(2**63) + 1, "half": 0.5, "none": None, "yes": True},
        {"list": [[], {}, [1, 2, [3]]]},
        json.loads('{"a":' * 49 + "{}" + "}" * 49),
    ],
    ids=lambda body: str(body)[:40],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_good_body_arrives(body, ascii_only):
    assert post(json.dumps(body, ensure_ascii=ascii_only)).json() == {"received": body}


HOSTILE = [
    (" ", "not JSON"),
    ("{", "not JSON"),
    ("{'a': 1}", "not JSON"),
    ("[]", "must be a JSON object"),
    ("null", "must be a JSON object"),
    ("1", "must be a JSON object"),
    ('"text"', "must be a JSON object"),
    (b'{"a": "\xff"}', "not UTF-8"),
    (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
    ("\ufeff{}".encode(), "not JSON"),
    ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    ('{"a": NaN}', "NaN is not a number"),
    ('{"a": [Infinity]}', "Infinity is not a number"),
    ('{"a": -Infinity}', "-Infinity is not a number"),
    ('{"a": 1e400}', "too large"),
    ('{"a": -1e400}', "too large"),
    (f'{{"a": {2**63}}}', "too large"),
    (f'{{"a": {{"b": [{-(2**64)}]}}}}', "too large"),
    ('{"a": 1' + "0" * 5000 + "}", "too large"),
    (r'{"a": "\u0000"}', "not text"),
    (r'{"\u0000": 1}', "not text"),
    (r'{"a": [{"b": "x\ud800y"}]}', "not text"),
    (r'{"a": {"\udfff": []}}', "not text"),
    (r'{"a": "\ude00\ud83d"}', "not text"),
    ('{"a": "\0"}', "not JSON"),
    ('{"a":' * 50 + "{}" + "}" * 50, "50 levels"),
    ('{"a":' + "[" * 50 + "]" * 50 + "}", "50 levels"),
    ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "50 levels"),
    ("[" * 100_000, "50 levels"),
    ('{"a":' * 100_000, "50 levels"),
    ('{"a": 1, "a": 2}', "twice"),
    ('{"a": {"b": 1, "b": 1}}', "twice"),
]


@pytest.mark.parametrize(("body", "reason"), HOSTILE, ids=lambda value: ascii(value)[:40])
def test_hostile_body_is_refused_with_its_reason(body, reason):
    response = post(body)

    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert reason in response.json()["message"]


def test_whole_surrogate_pair_is_a_character():
    assert post(r'{"a": "\ud83c\udf89"}').json() == {"received": {"a": "🎉"}}


def test_missing_body_is_an_empty_object():
    assert post("").json() == {"received": {}}


@pytest.mark.parametrize("charset", ["utf-16", "latin-1", "idna"])
def test_other_charsets_are_refused_clearly(charset):
    response = post("{}", f"application/json; charset={charset}")

    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert "UTF-8" in response.json()["message"]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "application/json;charset=UTF8"])
def test_utf_8_may_be_named(content_type):
    assert post("{}", content_type).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"]
)
def test_other_kinds_of_body_are_refused(content_type):
    assert error_of(post("a=1", content_type)) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_other_kinds_of_answer_are_refused():
    assert error_of(post("{}", Accept="application/xml")) == (406, "NOT_ACCEPTABLE")


def test_other_methods_are_refused_and_the_right_ones_named():
    response = Client().get("/api/echo")

    assert error_of(response) == (405, "METHOD_NOT_ALLOWED")
    assert response["Allow"] == "POST, OPTIONS"


def test_missing_token_is_asked_for():
    response = Client().get("/api/members")

    assert error_of(response) == (401, "AUTHENTICATION_REQUIRED")
    assert response["WWW-Authenticate"] == "Bearer"


def test_longest_body_passes_and_one_byte_more_is_too_much(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    longest = json.dumps({"a": "x" * (1000 - len('{"a": ""}'))})

    assert post(longest).status_code == 200
    assert error_of(post(longest + " ")) == (413, "PAYLOAD_TOO_LARGE")


class Chunks(io.BytesIO):
    """A body of which nobody said how long it is, and which counts what is read."""

    taken = 0

    def read(self, size=-1, /):
        found = super().read(size)
        self.taken += len(found)
        return found


def send_chunked(body, *, terminated=True):
    """What a WSGI server hands on for `Transfer-Encoding: chunked`, and the answer."""
    environ = RequestFactory().post("/api/echo", "{}", content_type="application/json").environ
    del environ["CONTENT_LENGTH"]
    chunks = Chunks(body)
    environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": chunks, "wsgi.input_terminated": terminated}
    statuses = []
    answer = WholeBodies(get_wsgi_application())(environ, lambda status, _: statuses.append(int(status[:3])))
    return statuses[0], json.loads(b"".join(answer)), chunks.taken


@pytest.mark.django_db  # the handler looks at the connections that a test before may have left
def test_chunked_body_arrives():
    status, answer, _ = send_chunked(b'{"a": 1}')

    assert (status, answer) == (200, {"received": {"a": 1}})


@pytest.mark.django_db  # the handler looks at the connections that a test before may have left
def test_endless_chunked_body_is_too_long_and_not_read_on(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    status, answer, taken = send_chunked(b" " * 1_000_000)

    assert (status, answer["error"], taken) == (413, "PAYLOAD_TOO_LARGE", 1001)


@pytest.mark.django_db  # the handler looks at the connections that a test before may have left
def test_body_without_an_end_is_not_waited_for():
    status, answer, taken = send_chunked(b'{"a": 1}', terminated=False)

    assert (status, answer, taken) == (200, {"received": {}}, 0)


# --- Writing bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("10.00"), "10"),
        (Decimal("10.50"), "10.5"),
        (Decimal("-5"), "-5"),
        (Decimal("1E+3"), "1000"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), '"2026-01-02T03:04:05Z"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (gettext_lazy("Owner"), '"Owner"'),
        ("café", '"café"'),
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
    ],
)
def test_answer_is_compact_utf_8(value, written):
    assert json_codec.Json().render(value) == written.encode()


def test_no_answer_is_no_bytes():
    assert json_codec.Json().render(None) == b""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("Infinity")])
def test_what_is_no_json_is_a_bug(value):
    with pytest.raises((ValueError, OverflowError)):
        json_codec.Json().render(value)
