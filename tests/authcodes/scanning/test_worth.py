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
    made = factories.brand()
    factories.level(made, value=10)
    return made


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


def scan_as(customer, code):
    return scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))


def over(brand, how):
    now = timezone.now()
    day = timedelta(days=1)
    state = {
        "off": {"is_active": False},
        "ended": {"starts_at": now - 2 * day, "ends_at": now - day},
        "not started": {"starts_at": now + day},
    }
    return factories.campaign(brand, **state[how])


@pytest.mark.parametrize("how", ["off", "ended", "not started"])
def test_scans_earn_their_usual_points_while_the_campaign_is_not_running(brand, customer, how):
    result = scan_as(customer, factories.code(brand, campaign=over(brand, how)))
    worker.drain()

    assert (result.reason, result.points_status) == ("accepted", "pending")
    assert factories.account(customer, brand).points == 10


def test_points_of_the_batch_go_before_the_levels_after_the_campaign_too(brand, customer):
    scan_as(customer, factories.code(brand, campaign=over(brand, "ended"), points_per_scan=25))
    worker.drain()

    assert factories.account(customer, brand).points == 25


@pytest.mark.parametrize("how", ["off", "ended", "not started"])
def test_scans_earn_nothing_where_the_batch_says_so(brand, customer, how):
    result = scan_as(customer, factories.code(brand, campaign=over(brand, how), after_campaign="nothing"))
    worker.drain()

    assert (result.reason, result.points_status) == ("campaign_inactive", "not_eligible")
    assert factories.account(customer, brand).points == 0


def test_campaign_that_is_over_does_not_advance(brand, customer):
    campaign = over(brand, "ended")

    scan_as(customer, factories.code(brand, campaign=campaign))
    worker.drain()

    assert not campaign.progress_rows.exists()


def test_product_no_longer_sold_stays_genuine_and_earns_nothing(brand, customer):
    code = factories.code(brand, product=factories.product(brand, redeem_point_value=15))
    code.product.is_active = False
    code.product.save()

    result = scan_as(customer, code)
    worker.drain()

    assert (result.outcome, result.reason, result.points_status) == ("success", "product_inactive", "not_eligible")
    assert result.points == 0
    assert factories.account(customer, brand).points == 0


def test_points_of_a_scan_stand_when_the_product_stops_being_sold_after_it(brand, customer):
    code = factories.code(brand)
    scan_as(customer, code)
    type(code.product).objects.update(is_active=False)

    worker.drain()

    assert factories.account(customer, brand).points == 10


def test_scan_of_a_product_that_was_not_sold_can_be_scanned_again_when_it_is(brand, customer):
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
