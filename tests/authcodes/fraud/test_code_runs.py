"""Runs of neighbouring codes: guessed codes are detected with one statement, ordinary scans are not."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.fraud import code_runs
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from tests.support import factories
from tests.support.portal import browser, scan, staff, text

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def codes(brand):
    return list(factories.batch(brand, quantity=60, prefix="cc-", range_name="Plain").codes.order_by("code"))


def scan_codes(codes, *, users=(None,), every=MINUTE, ago=timedelta(hours=20)):
    """Scans each code once, with the users taking turns."""
    start = timezone.now() - ago
    for number, code in enumerate(codes):
        scan(code, user=users[number % len(users)], scan_count=1, scanned_at=start + number * every)


def runs_of(*brands):
    return [(run.first_code, run.last_code, run.codes) for run in code_runs.newest_runs([brand.pk for brand in brands])]


def test_run_of_guessed_codes_gives_an_alert_with_a_link_to_its_scans(client, brand, customer, codes):
    for code in codes[19:35]:  # the customer counts up from the code they have
        scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    assert runs_of(brand) == [(codes[19].code, codes[34].code, 16)]

    page = browser(staff(brand)).get(reverse("admin:index"))
    [run_alert] = [alert for alert in page.context["home"].alerts if "neighbouring" in alert.text]

    assert "16 neighbouring codes of Plain" in text(page)
    rows = browser(staff(brand)).get(run_alert.link).context["cl"].result_list
    assert {row.code for row in rows} == {code.code for code in codes[19:35]}


@pytest.mark.parametrize(
    ("name", "step", "users", "every", "is_run"),
    [
        ("counted up", 1, 1, MINUTE, True),
        ("as a guest", 1, 0, MINUTE, True),
        ("three accounts in turn", 1, 3, MINUTE, True),
        ("every third", 3, 1, MINUTE, True),
        ("slowly", 1, 1, 50 * MINUTE, True),
        ("a product for each customer", 1, 12, MINUTE, False),
        ("one a day", 1, 1, 90 * MINUTE, False),
        ("far apart", 4, 1, MINUTE, False),
    ],
)
def test_runs_are_detected_by_step_users_and_interval(brand, codes, name, step, users, every, is_run):
    customers = [factories.customer(brand) for _ in range(users)] or [None]

    scan_codes(codes[::step][:12], users=customers, every=every)

    assert bool(runs_of(brand)) is is_run


@pytest.mark.parametrize("number", [code_runs.MIN_CODES - 1, code_runs.MIN_CODES])
def test_run_needs_a_minimum_number_of_codes(brand, customer, codes, number):
    scan_codes(codes[:number], users=[customer])

    assert bool(runs_of(brand)) is (number == code_runs.MIN_CODES)


def test_codes_scanned_before_are_not_a_run(brand, customer, codes):
    for code in codes[:20]:
        scan(code, user=customer, scan_count=2)

    assert runs_of(brand) == []


def test_codes_of_protected_batches_and_other_brands_are_not_a_run(brand, customer):
    signed = factories.batch(brand, quantity=20, prefix="sig-", signed=True)
    other = factories.brand()
    scan_codes(signed.codes.order_by("code"), users=[customer])
    scan_codes(factories.batch(other, quantity=20, prefix="oth-").codes.order_by("code"), users=[customer])

    assert runs_of(brand) == []
    assert len(runs_of(other)) == 1
    html = text(browser(staff(brand)).get(reverse("admin:index")))
    assert "oth-" not in html


def test_detection_needs_one_statement_and_reads_only_the_newest_scans(brand, customer, codes, monkeypatch):
    scan_codes(codes[:20], users=[customer])
    with CaptureQueriesContext(connection) as queries:
        assert runs_of(brand, factories.brand())
    assert len([query for query in queries.captured_queries if "first_scans" in query["sql"]]) == 1
    assert code_runs.newest_runs([]) == []
    assert code_runs.newest_runs(range(code_runs.MAX_BRANDS + 1)) == []

    monkeypatch.setattr(code_runs, "NEWEST", code_runs.MIN_CODES - 1)
    assert runs_of(brand) == []
