"""Runs of neighbouring codes: guesses are found, what shops and customers do is not, and a look costs one statement."""

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


def scanned(codes, *, users=(None,), every=MINUTE, ago=timedelta(hours=20)):
    """Each code once, in turn by the users."""
    begin = timezone.now() - ago
    for number, code in enumerate(codes):
        scan(code, user=users[number % len(users)], scan_count=1, scanned_at=begin + number * every)


def found(*brands):
    return [(run.first_code, run.last_code, run.codes) for run in code_runs.of([brand.pk for brand in brands])]


def test_a_real_run_of_guesses_is_on_the_front_page_with_its_scans(client, brand, customer, codes):
    for code in codes[19:35]:  # somebody counts up from the label they have
        scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    assert found(brand) == [(codes[19].code, codes[34].code, 16)]

    page = browser(staff(brand)).get(reverse("admin:index"))
    [shown] = [alert for alert in page.context["home"].alerts if "neighbouring" in alert.text]

    assert "16 neighbouring codes of Plain" in text(page)
    rows = browser(staff(brand)).get(shown.link).context["cl"].result_list
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
def test_what_is_a_run(brand, codes, name, step, users, every, is_run):
    people = [factories.customer(brand) for _ in range(users)] or [None]

    scanned(codes[::step][:12], users=people, every=every)

    assert bool(found(brand)) is is_run


@pytest.mark.parametrize("number", [code_runs.MIN_CODES - 1, code_runs.MIN_CODES])
def test_a_small_carton_is_no_run(brand, customer, codes, number):
    scanned(codes[:number], users=[customer])

    assert bool(found(brand)) is (number == code_runs.MIN_CODES)


def test_codes_that_were_scanned_before_are_no_guesses(brand, customer, codes):
    for code in codes[:20]:
        scan(code, user=customer, scan_count=2)

    assert found(brand) == []


def test_protected_batches_and_other_brands_have_none(brand, customer):
    signed = factories.batch(brand, quantity=20, prefix="sig-", signed=True)
    other = factories.brand()
    scanned(signed.codes.order_by("code"), users=[customer])
    scanned(factories.batch(other, quantity=20, prefix="oth-").codes.order_by("code"), users=[customer])

    assert found(brand) == []
    assert len(found(other)) == 1
    shown = text(browser(staff(brand)).get(reverse("admin:index")))
    assert "oth-" not in shown


def test_a_look_costs_one_statement_and_reads_the_newest_scans_alone(brand, customer, codes, monkeypatch):
    scanned(codes[:20], users=[customer])
    with CaptureQueriesContext(connection) as queries:
        assert found(brand, factories.brand())
    assert len([each for each in queries.captured_queries if "first_scans" in each["sql"]]) == 1
    assert code_runs.of([]) == []
    assert code_runs.of(range(code_runs.MAX_BRANDS + 1)) == []

    monkeypatch.setattr(code_runs, "NEWEST", code_runs.MIN_CODES - 1)
    assert found(brand) == []
