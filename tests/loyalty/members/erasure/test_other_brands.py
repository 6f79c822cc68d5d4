"""Erasure at one brand: the data at other brands stays, and the pseudonym does not lead to it."""

import json

import pytest
from django.utils import timezone

from authcodes.scanning import consistency
from events import messages, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from tests.loyalty.members.erasure.conftest import (
    EMAIL,
    FIRST,
    LAST,
    PHONE,
    create_personal_data,
    deliver_all_events,
    erase,
    find_texts,
)
from tests.support import factories


@pytest.mark.django_db(transaction=True)
def test_erasure_leaves_other_brands_unchanged_and_creates_a_pseudonym(api, named_customer, brand, deliver_events):
    other_brand = factories.brand(name="Elsewhere")
    factories.accounts.enrol(user_id=named_customer.pk, brand_id=other_brand.pk, at=timezone.now())
    factories.points(named_customer, other_brand, 70)
    create_personal_data(api, named_customer, brand, deliver_events)

    result = erase(named_customer, brand)
    deliver_all_events()

    named_customer.refresh_from_db()
    assert result.stays_elsewhere and result.pseudonym_id != named_customer.pk
    assert (named_customer.email, named_customer.is_active, named_customer.registered_brand) == (
        EMAIL,
        True,
        other_brand,
    )
    assert UserPoints.objects.get(brand=other_brand).user == named_customer
    assert UserPoints.objects.get(brand=brand).user_id == result.pseudonym_id
    assert {table for table, _word in find_texts(EMAIL, FIRST, LAST, PHONE)} == {"brands_user", "brands_customerword"}
    assert not named_customer.search_words.filter(brand=brand).exists()
    assert not named_customer.scans.filter(brand=brand).exists()
    assert list(consistency.differences()) == []


@pytest.mark.parametrize("signed", [False, True], ids=["unsigned code", "signed code without its tag"])
def test_scanning_another_brands_code_does_not_prevent_full_erasure(api, named_customer, brand, signed):
    other_brand = factories.brand(name="Elsewhere")
    customer_api = api.as_customer(named_customer)
    customer_api.verify(factories.code(other_brand, signed=signed).code, latitude=46.9, longitude=7.4)
    named_customer.scans.update(device="Phone 5")

    result = erase(named_customer, brand)

    named_customer.refresh_from_db()
    assert not result.stays_elsewhere and not named_customer.is_active
    assert named_customer.registered_brand == brand and find_texts(EMAIL, FIRST, LAST) == []
    assert list(named_customer.scans.values("brand", "latitude", "longitude", "device")) == [
        {"brand": other_brand.pk, "latitude": None, "longitude": None, "device": ""}
    ]


def test_customer_who_used_another_brands_app_stays_there(api, named_customer, brand):
    other_brand = factories.brand(name="Elsewhere", auto_enroll=False)
    api.as_customer(named_customer, brand=other_brand).verify(factories.code(other_brand))

    assert erase(named_customer, brand).stays_elsewhere


def test_events_do_not_link_the_pseudonym_to_the_customer(api, named_customer, brand, deliver_events):
    factories.accounts.enrol(user_id=named_customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    create_personal_data(api, named_customer, brand, deliver_events)

    erase(named_customer, brand)
    deliver_all_events()

    details = Event.objects.filter(brand=brand).values_list("detail", flat=True)
    assert [detail for detail in details if f'"user_id": {named_customer.pk}' in json.dumps(detail)] == []
    assert [detail for detail in details if f'"of": {named_customer.pk}' in json.dumps(detail)] == []


@pytest.mark.django_db(transaction=True)
def test_actions_after_the_erasure_belong_to_a_new_account(api, named_customer, brand, deliver_events):
    factories.accounts.enrol(user_id=named_customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    create_personal_data(api, named_customer, brand, deliver_events)
    erase(named_customer, brand)
    customer_api = api.as_customer(named_customer)  # a new login, as the erasure ended the earlier sessions
    customer_api.verify(factories.code(brand))
    deliver_events()
    customer_api.verify(factories.code(brand))
    new_events = Event.objects.filter(detail_type="scan-auth").order_by("-id")[:2]
    before = list(new_events.values("status", "detail", "outcome"))

    worker.drain_slow(lane=messages.lane_of("erase-events"))

    assert [event["status"] for event in before] == ["pending", "done"]
    assert list(new_events.values("status", "detail", "outcome")) == before
    deliver_events()
    assert factories.account(named_customer, brand).points == 20
    assert list(consistency.differences()) == []


def test_erasure_does_not_change_other_customers(api, brand, named_customer, deliver_events):
    other_customer = factories.customer(brand, email="other@example.com", first_name="Other")
    create_personal_data(api, named_customer, brand, deliver_events)
    factories.points(other_customer, brand, 5)
    erase(named_customer, brand)
    deliver_all_events()

    other_customer.refresh_from_db()
    assert (other_customer.email, other_customer.first_name, other_customer.is_active) == (
        "other@example.com",
        "Other",
        True,
    )
    assert factories.account(other_customer, brand).points == 5
