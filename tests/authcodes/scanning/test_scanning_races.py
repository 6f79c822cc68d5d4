"""Concurrent scans on parallel connections; for each guard, a control shows the race without it."""

import pytest
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import limited_points, record
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from core.db import uuid7
from events import worker
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_concurrently_behind_lock
from tests.support.statements import with_replacements

# A scan reads the code without a lock before it writes.
LOCK_CODE = "SELECT 1 FROM authcodes_authcode WHERE code = %s FOR NO KEY UPDATE"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    return brand


def scan_by(code):
    def scan(customer):
        context = ScanContext(at=timezone.now(), user_id=customer.pk)
        return scanning.scan(scanned=code.code, context=context)

    return scan


def scan_once_each(code, customers):
    return run_concurrently(scan_by(code), customers)


def test_single_use_code_is_accepted_for_one_of_a_hundred_concurrent_users(brand):
    code, customers = factories.code(brand), [factories.customer(brand) for _ in range(100)]

    results = scan_once_each(code, customers)
    worker.drain()

    assert sorted(result.outcome for result in results) == ["success"] + ["warning"] * 99
    assert AuthCode.objects.get().scan_count == 1
    assert Scan.objects.count() == 100
    assert LoyaltyTransaction.objects.count() == 1


def test_control_without_the_condition_several_scans_are_accepted(brand, monkeypatch):
    guard = "AND (b.scan_limit IS NULL OR c.scan_count - c.slots_returned < b.scan_limit)"
    monkeypatch.setattr(record, "ACCEPT_SCAN", with_replacements(record.ACCEPT_SCAN, (guard, "")))
    code, customers = factories.code(brand), [factories.customer(brand) for _ in range(8)]

    results = run_concurrently_behind_lock(LOCK_CODE, [code.code], scan_by(code), customers)

    assert [result.outcome for result in results].count("success") > 1


def test_scan_limit_of_seven_accepts_seven_concurrent_scans(brand):
    code, customers = factories.code(brand, scan_limit=7), [factories.customer(brand) for _ in range(50)]

    results = scan_once_each(code, customers)

    assert [result.outcome for result in results].count("success") == 7
    assert sorted(Scan.objects.filter(outcome="success").values_list("scan_count", flat=True)) == list(range(1, 8))


def test_concurrent_requests_with_one_idempotency_key_are_one_scan(brand):
    code, customer = factories.code(brand, scan_limit=None), factories.customer(brand)
    scan_id, at = uuid7.time_ordered_id(), timezone.now()

    def scan(_number):
        context = ScanContext(at=at, user_id=customer.pk)
        return scanning.scan(scanned=code.code, context=context, scan_id=scan_id)

    results = run_concurrently(scan, range(30))

    assert {(result.scan_id, result.outcome, result.scan_count) for result in results} == {(scan_id, "success", 1)}
    assert AuthCode.objects.get().scan_count == 1


def scan_limited_code_concurrently(brand):
    """The results of concurrent scans of a code whose points were limited until now."""
    code, customer = factories.code(brand), factories.customer(brand)
    brand.daily_point_limit = 1
    brand.save()
    factories.points(customer, brand, 1)
    scan_once_each(code, [customer])
    worker.drain()
    brand.daily_point_limit = None
    brand.save()
    return scan_once_each(code, [customer] * 12)


def test_concurrent_scans_request_limited_points_once(brand):
    results = scan_limited_code_concurrently(brand)

    assert Event.objects.filter(detail_type="scan-auth", status="pending").count() == 1
    worker.drain()
    [entry] = LoyaltyTransaction.objects.filter(points_earned=10)
    scan = Scan.objects.get(outcome="success")
    assert {(result.scan_id, result.points_status) for result in results} == {(scan.pk, "pending")}
    assert (entry.reason_id, scan.points_status, scan.points_awarded) == (scan.code, "awarded", 10)


def test_control_without_the_condition_limited_points_are_requested_repeatedly(brand, monkeypatch):
    guard = "AND points_status IN ('limited', 'not_eligible')"
    monkeypatch.setattr(limited_points, "REOPEN_SCAN", with_replacements(limited_points.REOPEN_SCAN, (guard, "")))

    scan_limited_code_concurrently(brand)

    assert Event.objects.filter(detail_type="scan-auth", status="pending").count() > 1
