"""A statement of the web that takes too long is cancelled, explained in the answer, and not logged as an error."""

import logging
import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings as project
from django.db import connection

from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from core.api.exception_handler import TOO_SLOW
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.api import Api
from tests.support.portal import address, browser, staff, text

SETTINGS = {
    "SECRET_KEY": "k" * 64,
    "CODE_TAG_SECRETS": "1:" + "k" * 64,
    "STORAGE_SECRETS": "1:" + "k" * 64,
    "ALLOWED_HOSTS": "localhost",
    "HTTPS": "0",
    "DATABASE_URL": "postgres://loyalty@localhost/loyalty",
    "DJANGO_SETTINGS_MODULE": "config.settings",
}


def slow_down(model: Any) -> None:
    """Make reading a row of the table take a second until the end of the test; the statement timeout is 0.3 seconds."""
    table = model._meta.db_table
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_of_before")
        cursor.execute(f"CREATE VIEW {table} AS SELECT * FROM {table}_of_before WHERE pg_sleep(1) IS NOT NULL")
        cursor.execute(f"GRANT SELECT ON {table} TO PUBLIC")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 300")


def test_slow_list_is_unavailable_with_advice_to_narrow_it(brand: Brand, caplog: pytest.LogCaptureFixture) -> None:
    factories.product(brand)
    client = browser(staff(brand))
    slow_down(Product)

    with caplog.at_level(logging.INFO):
        answer = client.get(address("authcodes.product"))

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert TOO_SLOW in text(answer)
    assert "A statement took too long and was cancelled." in caplog.messages
    assert not any(record.exc_info or "Server Error" in record.message for record in caplog.records)


def test_slow_api_call_is_answered_in_the_envelope(
    api: Api, customer: User, brand: Brand, caplog: pytest.LogCaptureFixture
) -> None:
    UserPoints.objects.get_or_create(user=customer, brand=brand)
    caller = api.as_customer(customer)
    slow_down(UserPoints)

    with caplog.at_level(logging.INFO):
        answer = caller.get("customer/loyalty/points")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert (answer.json()["error"], answer.json()["message"]) == ("UNAVAILABLE", TOO_SLOW)
    assert not any(record.exc_info or "Server Error" in record.message for record in caplog.records)


def options_of(code: str, **variables: str) -> dict[str, str]:
    """The database options of a process that runs `code`; the last value of each option counts."""
    print_options = "from django.conf import settings; print(settings.DATABASES['default']['OPTIONS']['options'])"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{print_options}"],
        cwd=project.BASE_DIR,
        env={**SETTINGS, **variables, "PATH": os.environ["PATH"], "DATA_DIR": os.environ.get("DATA_DIR", "")},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(part.split("=", 1) for part in result.stdout.split() if "=" in part)


WEB = "import config.wsgi"


def test_statement_timeout_is_5_seconds_in_the_web_and_60_in_workers() -> None:
    assert options_of(WEB)["statement_timeout"] == "5000"
    assert options_of("pass")["statement_timeout"] == "60000"


@pytest.mark.parametrize(
    ("for_the_web", "for_all", "expected"), [("700", "60000", "700"), ("0", "9000", "9000"), ("7000", "900", "900")]
)
def test_shorter_of_two_statement_timeouts_applies(for_the_web: str, for_all: str, expected: str) -> None:
    variables = {"WEB_STATEMENT_TIMEOUT_MS": for_the_web, "DATABASE_STATEMENT_TIMEOUT_MS": for_all}

    assert options_of(WEB, **variables)["statement_timeout"] == expected
