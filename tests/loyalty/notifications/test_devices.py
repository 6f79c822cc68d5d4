"""Devices for push: registering, changing the user, and removing."""

import json

import pytest
from django.utils import timezone

from loyalty.models.notifications import Device
from loyalty.notifications import devices
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.django_db

PATH = "customer/devices"
PHONE = {"token": "fY3kQ9xTRk2:APA91bH8", "platform": "android"}


def put(caller, body):
    return caller.call("PUT", PATH, data=json.dumps(body).encode())


def test_device_is_registered_once(api, customer, brand):
    customer_api = api.as_customer(customer)

    first = put(customer_api, PHONE)
    again = put(customer_api, {**PHONE, "platform": "web"})

    assert (first.status_code, again.status_code) == (200, 200)
    assert Device.objects.values_list("user", "brand", "token", "platform").get() == (
        customer.pk,
        brand.pk,
        PHONE["token"],
        "web",
    )


def test_device_belongs_to_its_last_user(api, customer, brand):
    other_customer = factories.customer(brand)
    put(api.as_customer(customer), PHONE)

    put(api.as_customer(other_customer), PHONE)

    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    assert len(devices.alive(user_id=other_customer.pk, brand_id=brand.pk)) == 1


def test_device_can_be_registered_at_two_brands(api, customer, brand):
    other_brand = factories.brand()
    put(api.as_customer(customer), PHONE)
    put(api.as_customer(customer, brand=other_brand), PHONE)

    api.as_customer(customer).call("DELETE", PATH, query={"token": PHONE["token"]})

    assert Device.objects.get().brand == other_brand


def test_device_is_removed_by_its_owner_only(api, customer, brand):
    put(api.as_customer(customer), PHONE)
    other_customer_api = api.as_customer(factories.customer(brand))

    assert error(other_customer_api.call("DELETE", PATH, query={"token": PHONE["token"]})) == (404, "NOT_FOUND")
    assert error(api.as_customer(customer).call("DELETE", PATH)) == (400, "VALIDATION_ERROR")
    assert error(api.call("DELETE", PATH, query={"token": "x"})) == (401, "AUTHENTICATION_REQUIRED")
    assert api.as_customer(customer).call("DELETE", PATH, query={"token": PHONE["token"]}).status_code == 204
    assert not Device.objects.exists()


def test_dead_device_is_alive_again_after_registering(customer, brand):
    device_fields = {"user_id": customer.pk, "brand_id": brand.pk, "token": "t", "platform": "ios"}
    device = devices.register(**device_fields, at=timezone.now())

    devices.mark_dead(device=device, at=timezone.now())
    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    devices.register(**device_fields, at=timezone.now())

    assert len(devices.alive(user_id=customer.pk, brand_id=brand.pk)) == 1
    devices.mark_dead(device=device, at=timezone.now())  # a late answer, after the new registration
    assert len(devices.alive(user_id=customer.pk, brand_id=brand.pk)) == 1


def test_oldest_devices_are_removed_above_the_maximum(customer, brand, monkeypatch):
    monkeypatch.setattr(devices, "MAX_PER_CUSTOMER", 2)
    for token in "abc":
        devices.register(user_id=customer.pk, brand_id=brand.pk, token=token, platform="web", at=timezone.now())

    assert [device.token for device in devices.alive(user_id=customer.pk, brand_id=brand.pk)] == ["b", "c"]
