"""Devices: registered by their owner's app, moved with their user, taken away."""

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


def test_a_device_is_registered_once(api, customer, brand):
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


def test_a_device_belongs_to_who_used_it_last(api, customer, brand):
    another = factories.customer(brand)
    put(api.as_customer(customer), PHONE)

    put(api.as_customer(another), PHONE)

    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    assert len(devices.alive(user_id=another.pk, brand_id=brand.pk)) == 1


def test_the_same_device_may_know_two_brands(api, customer, brand):
    other = factories.brand()
    put(api.as_customer(customer), PHONE)
    put(api.as_customer(customer, of=other), PHONE)

    api.as_customer(customer).call("DELETE", PATH, query={"token": PHONE["token"]})

    assert Device.objects.get().brand == other


def test_a_device_is_removed_by_its_owner_only(api, customer, brand):
    put(api.as_customer(customer), PHONE)
    stranger = api.as_customer(factories.customer(brand))

    assert error(stranger.call("DELETE", PATH, query={"token": PHONE["token"]})) == (404, "NOT_FOUND")
    assert error(api.as_customer(customer).call("DELETE", PATH)) == (400, "VALIDATION_ERROR")
    assert error(api.call("DELETE", PATH, query={"token": "x"})) == (401, "AUTHENTICATION_REQUIRED")
    assert api.as_customer(customer).call("DELETE", PATH, query={"token": PHONE["token"]}).status_code == 204
    assert not Device.objects.exists()


def test_a_dead_device_comes_back_when_it_registers_again(customer, brand):
    device_fields = {"user_id": customer.pk, "brand_id": brand.pk, "token": "t", "platform": "ios"}
    device = devices.register(**device_fields, at=timezone.now())

    devices.mark_dead(device=device, at=timezone.now())
    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    devices.register(**device_fields, at=timezone.now())

    assert len(devices.alive(user_id=customer.pk, brand_id=brand.pk)) == 1
    devices.mark_dead(device=device, at=timezone.now())  # an answer that comes after the new registration
    assert len(devices.alive(user_id=customer.pk, brand_id=brand.pk)) == 1


def test_the_oldest_of_too_many_devices_go(customer, brand, monkeypatch):
    monkeypatch.setattr(devices, "MAX_PER_CUSTOMER", 2)
    for token in "abc":
        devices.register(user_id=customer.pk, brand_id=brand.pk, token=token, platform="web", at=timezone.now())

    assert [device.token for device in devices.alive(user_id=customer.pk, brand_id=brand.pk)] == ["b", "c"]
