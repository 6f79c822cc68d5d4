"""What scans earn when their campaign is not running, or their product is no longer sold."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from events import worker
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand():
    brand = factories.brand()
    factories.level(brand, value=10)
    return brand


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


def scan_as(customer, code):
    return scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))


def campaign_not_running(brand, condition):
    now = timezone.now()
    day = timedelta(days=1)
    dates = {
        "off": {"is_active": False},
        "ended": {"starts_at": now - 2 * day, "ends_at": now - day},
        "not started": {"starts_at": now + day},
    }
    return factories.campaign(brand, **dates[condition])


@pytest.mark.parametrize("condition", ["off", "ended", "not started"])
def test_scans_earn_their_usual_points_while_the_campaign_is_not_running(brand, customer, condition):
    result = scan_as(customer, factories.code(brand, campaign=campaign_not_running(brand, condition)))
    worker.drain()

    assert (result.reason, result.points_status) == ("accepted", "pending")
    assert factories.account(customer, brand).points == 10


def test_points_of_the_batch_override_the_level_after_the_campaign_too(brand, customer):
    scan_as(customer, factories.code(brand, campaign=campaign_not_running(brand, "ended"), points_per_scan=25))
    worker.drain()

    assert factories.account(customer, brand).points == 25


@pytest.mark.parametrize("condition", ["off", "ended", "not started"])
def test_scans_outside_the_campaign_earn_nothing_if_the_batch_says_so(brand, customer, condition):
    result = scan_as(
        customer, factories.code(brand, campaign=campaign_not_running(brand, condition), after_campaign="nothing")
    )
    worker.drain()

    assert (result.reason, result.points_status) == ("campaign_inactive", "not_eligible")
    assert factories.account(customer, brand).points == 0


def test_scan_does_not_advance_an_ended_campaign(brand, customer):
    campaign = campaign_not_running(brand, "ended")

    scan_as(customer, factories.code(brand, campaign=campaign))
    worker.drain()

    assert not campaign.progress_rows.exists()


def test_product_no_longer_sold_is_genuine_and_earns_nothing(brand, customer):
    code = factories.code(brand, product=factories.product(brand, redeem_point_value=15))
    code.product.is_active = False
    code.product.save()

    result = scan_as(customer, code)
    worker.drain()

    assert (result.outcome, result.reason, result.points_status) == ("success", "product_inactive", "not_eligible")
    assert result.points == 0
    assert factories.account(customer, brand).points == 0


def test_scan_earns_although_its_product_is_no_longer_sold_afterwards(brand, customer):
    code = factories.code(brand)
    scan_as(customer, code)
    type(code.product).objects.update(is_active=False)

    worker.drain()

    assert factories.account(customer, brand).points == 10


def test_code_of_an_inactive_product_earns_when_scanned_after_reactivation(brand, customer):
    code = factories.code(brand, scan_limit=None)
    type(code.product).objects.update(is_active=False)
    scan_as(customer, code)
    type(code.product).objects.update(is_active=True)

    scan_as(customer, code)
    worker.drain()

    assert factories.account(customer, brand).points == 10
    assert list(Scan.objects.order_by("scanned_at").values_list("reason", flat=True)) == [
        "product_inactive",
        "accepted",
    ]
