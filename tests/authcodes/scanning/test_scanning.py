"""Scanning: the result for the customer, the stored scan and the published events."""

from decimal import Decimal

from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.scanning import locate, scan
from authcodes.scanning.types import ScanContext, ScanLocation
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def scan_as(customer, code, **fields):
    return scan.scan(
        scanned=str(code),
        context=ScanContext(at=timezone.now(), user_id=customer and customer.pk, **fields),
    )


def test_a_first_scan_is_accepted_and_counted(brand, customer):
    code = factories.code(brand)

    result = scan_as(customer, code)

    assert (result.outcome, result.reason, result.points_status) == ("success", "accepted", "pending")
    assert (result.points, result.scan_count, result.first_scan) == (Decimal(10), 1, True)
    code.refresh_from_db()
    assert code.scan_count == 1


def test_an_accepted_scan_earns_points(brand, customer, deliver_events):
    code = factories.code(brand)
    result = scan_as(customer, code)

    deliver_events()

    assert factories.account(customer, brand).points == 10
    assert LoyaltyTransaction.objects.get().reason_id == code.code
    scan = Scan.objects.get(pk=result.scan_id)
    assert (scan.points_status, scan.points_awarded) == ("awarded", Decimal(10))
    assert list(Event.objects.order_by("id").values_list("detail_type", "status")) == [
        ("scan-auth", "done"),
        ("balance-changed", "ignored"),
        ("notify", "ignored"),
    ]


def test_city_and_region_sent_with_the_first_scan_are_stored(brand, customer):
    code = factories.code(brand, scan_limit=None)

    scan_as(customer, code, place=ScanLocation(48.85, 2.35, "Paris", "Ile-de-France"))
    scan_as(customer, code, place=ScanLocation(52.52, 13.4, "Berlin", "Berlin"))

    code.refresh_from_db()
    assert code.first_scan_location == "Paris, Ile-de-France"
    assert locate.locate_pending(limit=10) == 0
