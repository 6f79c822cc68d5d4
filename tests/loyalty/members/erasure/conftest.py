"""Somebody whom tables, files and records name, and what erases them."""

from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.people import User
from events import messages, worker
from events.models import Event
from loyalty.members import erasure
from loyalty.models.notifications import Device
from loyalty.models.wallets import Platform, WalletDevice
from loyalty.notifications import preferences
from loyalty.wallets import passes
from tests.support import factories

EMAIL, FIRST, LAST, PHONE = "wilhelmina.quist@example.com", "Wilhelmina", "Quistgaard", "+41791234567"
TRACES = (EMAIL, FIRST, LAST, PHONE)
PASSWORD = factories.PASSWORD


@pytest.fixture
def person(brand):
    return factories.customer(brand, email=EMAIL, password=PASSWORD, first_name=FIRST, last_name=LAST)


def lives(api, person, brand, deliver):
    """Does what leaves traces: scans, points, wishes, a device, passes, events, a change by staff."""
    customer_api = api.as_customer(person)
    factories.points(person, brand, 100)
    factories.redemption(person, factories.reward(brand))
    factories.milestone(factories.campaign(brand), 1)
    customer_api.verify(factories.code(brand), latitude=46.9, longitude=7.4)
    deliver()
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    Device.objects.create(user=person, brand=brand, token=uuid4().hex, platform="android")
    account = factories.account(person, brand)
    for platform in Platform:
        held, _new = passes.issue(account=account, platform=platform, at=timezone.now())
        WalletDevice.objects.create(wallet_pass=held, device="phone", push_token="abcdef0123456789")
    Event.objects.create(
        source="shop.customer-app",
        detail_type="newsletter-wanted",
        brand=brand,
        status="ignored",
        detail={"arguments": {"brand_id": brand.pk, "user_id": person.pk}, "payload": {"name": FIRST, "mail": EMAIL}},
    )
    changes = audit_log.changes(person, User(pk=person.pk, email=EMAIL, first_name="Mina", last_name=LAST))
    audit_log.record(
        audit_context=by_system(),
        action="Changed",
        rows=[AuditedChange(person, brand.pk, changes), AuditedChange(account, brand.pk)],
    )
    return customer_api


def by_system(reason=""):
    return AuditContext(None, timezone.now(), reason=reason)


def erase(person, brand):
    return erasure.erase(user_id=person.pk, brand_id=brand.pk, audit_context=by_system("Asked by letter"))


def traces(*texts):
    """Every column of every table of ours that holds one of the words, whatever its type."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            for word in texts:
                cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{word}%"])
                if cursor.fetchone()[0]:
                    found.append((table, word))
    return found


def deliver_all():
    worker.drain()
    for lane in messages.slow_lanes():
        worker.drain_slow(lane=lane)
