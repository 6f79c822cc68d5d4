"""An expected client error is a warning in one line, so that an operator's alert on errors rings only for bugs."""

import logging

import pytest
from django.conf import settings as project
from django.core.exceptions import SuspiciousOperation
from django.test import Client

from brands.models.people import User
from core.observability.log_format import SUSPICIOUS, ExpectedErrors

CLIENT_ERRORS = {
    "wrong host": lambda client: client.get("/admin/login/", headers={"host": "elsewhere.example"}),
    "wrong host of the API": lambda client: client.get("/api/v1/customer", headers={"host": "elsewhere.example"}),
    "disallowed look-up": lambda client: client.get("/admin/authcodes/authcode/?brand__name=x"),
    "disallowed field": lambda client: client.get("/admin/authcodes/product/?_to_field=sku"),
    "too many fields": lambda client: client.post("/admin/login/", {f"f{number}": "x" for number in range(1_001)}),
    "body too large": lambda client: client.post(
        "/api/v1/auth/token", "x" * (project.DATA_UPLOAD_MAX_MEMORY_SIZE + 1), content_type="application/json"
    ),
    "broken JSON": lambda client: client.post("/api/v1/auth/token", "{", content_type="application/json"),
    "broken form": lambda client: client.post("/admin/login/", "x", content_type="multipart/form-data"),
    "a NUL": lambda client: client.get("/admin/?q=%00"),
    "nothing there": lambda client: client.get("/nothing/"),
}


@pytest.mark.parametrize("send_request", CLIENT_ERRORS.values(), ids=CLIENT_ERRORS)
def test_client_error_logs_at_most_one_warning_line(send_request, db, settings, caplog):
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(User.objects.create_superuser("root@example.com", "x"))

    answer = send_request(client)

    assert 400 <= answer.status_code < 500
    records = [record for record in caplog.records if record.name.startswith("django")]
    assert len(records) <= 1
    assert all(record.levelno <= logging.WARNING and not record.exc_info for record in records)


def test_server_error_is_still_logged_as_an_error():
    record = logging.makeLogRecord({"levelno": logging.ERROR, "levelname": "ERROR", "status_code": 500, "exc_info": 1})

    assert ExpectedErrors().filter(record)
    assert (record.levelname, record.exc_info) == ("ERROR", 1)


def subclass_names(base):
    for subclass in base.__subclasses__():
        yield subclass.__name__
        yield from subclass_names(subclass)


def test_every_suspicious_operation_class_is_listed():
    ours = {name for name in subclass_names(SuspiciousOperation) if "Raster" not in name}

    assert ours <= set(SUSPICIOUS)
