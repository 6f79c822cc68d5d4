"""Harmful and malformed bodies are rejected early, and answers are compact JSON."""

import io
import json
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.core.wsgi import get_wsgi_application
from django.test import Client, RequestFactory
from django.utils.translation import gettext_lazy

from core.api import json_codec
from core.web.middleware import WholeBodies
from tests.core.api.error_views import error_of, post

pytestmark = pytest.mark.urls("tests.core.api.error_views")


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
def test_valid_body_is_parsed(body, ascii_only):
    assert post(json.dumps(body, ensure_ascii=ascii_only)).json() == {"received": body}


MALFORMED_BODIES = [
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


@pytest.mark.parametrize(("body", "reason"), MALFORMED_BODIES, ids=lambda value: ascii(value)[:40])
def test_malformed_body_is_rejected_with_the_reason(body, reason):
    response = post(body)

    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert reason in response.json()["message"]


def test_surrogate_pair_is_decoded_to_one_character():
    assert post(r'{"a": "\ud83c\udf89"}').json() == {"received": {"a": "🎉"}}


def test_empty_body_is_parsed_as_an_empty_object():
    assert post("").json() == {"received": {}}


@pytest.mark.parametrize("charset", ["utf-16", "latin-1", "idna"])
def test_other_charsets_are_rejected_with_a_hint_at_utf_8(charset):
    response = post("{}", f"application/json; charset={charset}")

    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert "UTF-8" in response.json()["message"]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "application/json;charset=UTF8"])
def test_utf_8_charset_may_be_declared(content_type):
    assert post("{}", content_type).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"]
)
def test_other_content_types_are_rejected(content_type):
    assert error_of(post("a=1", content_type)) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_unsupported_accept_header_is_rejected():
    assert error_of(post("{}", Accept="application/xml")) == (406, "NOT_ACCEPTABLE")


def test_unsupported_method_is_rejected_with_an_allow_header():
    response = Client().get("/api/echo")

    assert error_of(response) == (405, "METHOD_NOT_ALLOWED")
    assert response["Allow"] == "POST, OPTIONS"


def test_body_may_have_the_maximum_size_and_not_one_byte_more(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    longest = json.dumps({"a": "x" * (1000 - len('{"a": ""}'))})

    assert post(longest).status_code == 200
    assert error_of(post(longest + " ")) == (413, "PAYLOAD_TOO_LARGE")


class Chunks(io.BytesIO):
    """A body of unknown length, which counts the bytes that are read."""

    bytes_read = 0

    def read(self, size=-1, /):
        chunk = super().read(size)
        self.bytes_read += len(chunk)
        return chunk


def send_chunked(body, *, terminated=True):
    """Send a body as a WSGI server passes on `Transfer-Encoding: chunked`; return status, answer and bytes read."""
    environ = RequestFactory().post("/api/echo", "{}", content_type="application/json").environ
    del environ["CONTENT_LENGTH"]
    chunks = Chunks(body)
    environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": chunks, "wsgi.input_terminated": terminated}
    statuses = []
    answer = WholeBodies(get_wsgi_application())(environ, lambda status, _: statuses.append(int(status[:3])))
    return statuses[0], json.loads(b"".join(answer)), chunks.bytes_read


@pytest.mark.django_db  # the handler checks connections that an earlier test may have left
def test_chunked_body_is_parsed():
    status, answer, _ = send_chunked(b'{"a": 1}')

    assert (status, answer) == (200, {"received": {"a": 1}})


@pytest.mark.django_db  # the handler checks connections that an earlier test may have left
def test_oversized_chunked_body_is_read_only_up_to_the_limit(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    status, answer, bytes_read = send_chunked(b" " * 1_000_000)

    assert (status, answer["error"], bytes_read) == (413, "PAYLOAD_TOO_LARGE", 1001)


@pytest.mark.django_db  # the handler checks connections that an earlier test may have left
def test_body_of_unterminated_input_is_not_read():
    status, answer, bytes_read = send_chunked(b'{"a": 1}', terminated=False)

    assert (status, answer, bytes_read) == (200, {"received": {}}, 0)


# --- Writing bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "rendered"),
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
def test_answer_is_rendered_as_compact_utf_8_json(value, rendered):
    assert json_codec.Json().render(value) == rendered.encode()


def test_empty_answer_is_rendered_as_no_bytes():
    assert json_codec.Json().render(None) == b""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("Infinity")])
def test_value_without_a_json_form_raises(value):
    with pytest.raises((ValueError, OverflowError)):
        json_codec.Json().render(value)
