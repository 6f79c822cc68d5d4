"""A brand that requires a confirmed e-mail address: points of scans and other actions wait for the confirmation."""

import pytest
from django.core import signing
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.scanning import consistency
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.people import User
from brands.models.tenants import Brand
from brands.staff_login import staff
from events import delivery as events
from events import leases, messages, publishing
from events.models import Event
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.notifications import rendering
from tests.authcodes.scanning.test_scan_events import report_scan
from tests.authcodes.scanning.unconfirmed import confirm, points_of, statuses_of, waits_for_confirmation
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.django_db(transaction=True)


UNCONFIRMED_MESSAGE = "Genuine product. Confirm your e-mail address within 30 days to get your points."


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def confirmed(brand):
    return factories.customer(brand, email_verified_at=timezone.now())


def test_scan_of_an_unconfirmed_customer_is_genuine_with_pending_points(api, brand, customer, deliver_events):
    answer = api.as_customer(customer).verify(factories.code(brand))
    deliver_events()

    assert statuses_of(answer) == ("success", "accepted", "unconfirmed")
    assert (answer.json()["message"], answer.json()["first_scan"]) == (UNCONFIRMED_MESSAGE, True)
    assert answer.json()["points_awarded"] == 10
    assert points_of(customer, brand) == 0
    assert waits_for_confirmation(api.as_customer(customer).get(f"scans/{answer.json()['scan_id']}").json())


def test_points_are_awarded_once_when_the_address_is_confirmed(api, brand, customer, deliver_events):
    customer_api, codes = api.as_customer(customer), list(factories.batch(brand, quantity=3).codes.all())
    answers = [customer_api.verify(code).json() for code in codes]
    deliver_events()

    confirm(customer, brand)
    deliver_events()
    deliver_events()

    assert points_of(customer, brand) == 30
    assert {customer_api.get(f"scans/{each['scan_id']}").json()["points_status"] for each in answers} == {"awarded"}
    assert list(consistency.differences()) == []


def test_confirmed_customer_earns_points_as_usual(api, brand, confirmed, deliver_events):
    answer = api.as_customer(confirmed).verify(factories.code(brand))
    deliver_events()

    assert statuses_of(answer) == ("success", "accepted", "pending")
    assert points_of(confirmed, brand) == 10


def test_unconfirmed_customer_earns_points_without_the_setting(api, brand, customer, deliver_events):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=False)

    assert statuses_of(api.as_customer(customer).verify(factories.code(brand)))[2] == "pending"
    deliver_events()

    assert points_of(customer, brand) == 10


def test_limited_points_are_awarded_when_the_code_is_scanned_again(api, brand, customer, deliver_events):
    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=0)
    customer_api, code = api.as_customer(customer), factories.code(brand)
    customer_api.verify(code)
    customer_api.verify(code)
    deliver_events()
    confirm(customer, brand)
    deliver_events()
    assert sorted(Scan.objects.values_list("points_status", flat=True)) == ["lapsed", "limited"]

    Brand.objects.filter(pk=brand.pk).update(daily_point_limit=None)
    customer_api.verify(code)
    deliver_events()

    assert points_of(customer, brand) == 10


def test_hub_event_of_a_code_reserved_by_a_guest_waits_for_confirmation(api, brand, customer, deliver_events):
    code = factories.batch(brand, quantity=1, scan_limit=1).codes.get()
    api.app().verify(code)
    event = report_scan(brand, customer, code)
    assert (event.status, event.on_hold_for) == (Event.Status.PENDING, customer.pk)

    confirm(customer, brand)
    deliver_events()

    assert points_of(customer, brand) == 10


def test_a_confirmed_change_of_the_address_releases_points(api, brand, customer, deliver_events):
    customer.set_password(factories.PASSWORD)
    customer.save()
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()

    change = confirmations.begin_change(user=customer, brand=brand, email="new@example.com", at=timezone.now())
    token = signing.dumps({"c": str(change.pk)}, salt=rendering.CHANGE_EMAIL)
    confirmations.finish_change(token=token, password=factories.PASSWORD, at=timezone.now())
    deliver_events()

    assert points_of(customer, brand) == 10


def test_an_opened_invitation_releases_points(api, brand, customer, deliver_events):
    api.as_customer(customer).verify(factories.code(brand))
    deliver_events()

    staff.prove_address(user=customer, at=timezone.now())
    deliver_events()

    assert points_of(customer, brand) == 10


def test_repeated_scans_before_confirming_earn_points_once(api, brand, customer, deliver_events):
    customer_api, code = api.as_customer(customer), factories.code(brand)
    answers = [customer_api.verify(code) for _ in range(3)]
    deliver_events()
    confirm(customer, brand)
    deliver_events()

    assert [statuses_of(answer) for answer in answers] == [("success", "accepted", "unconfirmed")] * 3
    assert points_of(customer, brand) == 10
    assert sorted(Scan.objects.values_list("points_status", flat=True)) == ["awarded", "lapsed", "lapsed"]
    assert list(consistency.differences()) == []


def test_a_code_without_limit_scanned_twice_earns_once(api, brand, customer, deliver_events):
    customer_api, code = api.as_customer(customer), factories.code(brand, scan_limit=None)
    for _ in range(2):
        customer_api.verify(code)
    deliver_events()
    confirm(customer, brand)
    deliver_events()

    assert points_of(customer, brand) == 10
    assert sorted(Scan.objects.values_list("points_status", flat=True)) == ["already_claimed", "awarded"]


def test_repeated_key_returns_the_same_scan_and_its_current_points_status(api, brand, customer, deliver_events):
    customer_api, code, key = api.as_customer(customer), factories.code(brand), {"idempotency_key": "one-key"}

    before = [customer_api.post("auth-codes/scan", {"code": code.code}, **key) for _ in range(2)]
    confirm(customer, brand)
    after = customer_api.post("auth-codes/scan", {"code": code.code}, **key)

    assert [statuses_of(each)[2] for each in (*before, after)] == ["unconfirmed", "unconfirmed", "pending"]
    assert len({each.json()["scan_id"] for each in (*before, after)}) == 1


def test_validate_reports_points_that_wait_for_confirmation(api, brand, customer):
    body = api.as_customer(customer).post("auth-codes/validate", {"code": factories.code(brand).code}).json()

    assert (body["valid"], waits_for_confirmation(body), body["points_awarded"]) == (True, True, 10)


# --- Other ways to earn ----------------------------------------------------------------------------------------------


def test_campaign_event_is_rejected_and_credited_after_confirmation(api, brand, customer, deliver_events):
    app, code = api.as_customer(customer).app(), factories.code(brand)

    answers = [app.credit(customer, code, idempotency_key="one") for _ in range(2)]
    confirm(customer, brand)
    deliver_events()
    after = app.credit(customer, code, idempotency_key="one")

    assert [error(answer) for answer in answers] == [(403, "EMAIL_NOT_CONFIRMED")] * 2
    assert after.json()["data"]["points_earned"] == 10
    assert points_of(customer, brand) == 10
    assert list(consistency.differences()) == []


def publish(brand, customer, kind, payload):
    arguments = {"brand_id": brand.pk, "user_id": customer.pk}
    message = messages.NewEvent(kind=kind, payload=payload, arguments=arguments)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())


ORDER = {"type": "order", "order": {"orderId": "7", "currency": "EUR", "subtotal": 30, "total": 30}}
OTHER_ACTIONS = [
    ("order-complete", ORDER),
    ("log-user-login", {"type": "login", "channel": "web"}),
    ("log-user-profile-update", {"type": "profile", "completedFields": ["first_name"]}),
]


@pytest.mark.parametrize(("kind", "payload"), OTHER_ACTIONS)
def test_points_of_orders_logins_and_profile_updates_wait_too(brand, customer, deliver_events, kind, payload):
    factories.earning_rule(brand, kind)
    publish(brand, customer, kind, payload)
    deliver_events()
    assert points_of(customer, brand) == 0

    confirm(customer, brand)
    deliver_events()

    assert points_of(customer, brand) == 5
    assert Event.objects.get(detail_type=kind).status == "done"


def test_reward_points_of_a_reached_milestone_do_not_wait(brand, confirmed, deliver_events):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=7, auto_claim=True)
    code = factories.code(brand)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=confirmed.pk))
    for delivery in leases.claim(limit=1):
        events.deliver(delivery)
    User.objects.filter(pk=confirmed.pk).update(email_verified_at=None)
    deliver_events()

    assert points_of(confirmed, brand) == 17


# --- Several brands --------------------------------------------------------------------------------------------------


def test_setting_of_one_brand_does_not_affect_another_brand(api, brand, customer, deliver_events):
    other_brand = factories.brand()
    factories.level(other_brand)
    UserPoints.objects.create(user=customer, brand=other_brand)
    api.as_customer(customer).verify(factories.code(brand))

    other_answer = api.as_customer(customer, brand=other_brand).verify(factories.code(other_brand))
    deliver_events()

    assert statuses_of(other_answer) == ("success", "accepted", "pending")
    assert "waits_for" not in other_answer.json()
    assert (points_of(customer, brand), points_of(customer, other_brand)) == (0, 10)


def test_confirming_at_one_brand_releases_the_points_of_all_brands(api, brand, customer, deliver_events):
    other_brand = factories.brand(requires_confirmed_email=True)
    factories.level(other_brand)
    UserPoints.objects.create(user=customer, brand=other_brand)
    api.as_customer(customer).verify(factories.code(brand))
    api.as_customer(customer, brand=other_brand).verify(factories.code(other_brand))
    deliver_events()

    confirm(customer, other_brand)
    deliver_events()

    assert (points_of(customer, brand), points_of(customer, other_brand)) == (10, 10)
