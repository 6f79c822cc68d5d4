"""A customer with personal data in many tables, their erasure, and a search for what remains."""

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
PERSONAL_TEXTS = (EMAIL, FIRST, LAST, PHONE)
PASSWORD = factories.PASSWORD


@pytest.fixture
def named_customer(brand):
    return factories.customer(brand, email=EMAIL, password=PASSWORD, first_name=FIRST, last_name=LAST)


def create_personal_data(api, customer, brand, deliver):
    """Creates data of every kind: scans, points, preferences, a device, passes, events and audit log entries."""
    customer_api = api.as_customer(customer)
    factories.points(customer, brand, 100)
    factories.redemption(customer, factories.reward(brand))
    factories.milestone(factories.campaign(brand), 1)
    customer_api.verify(factories.code(brand), latitude=46.9, longitude=7.4)
    deliver()
    preferences.change(customer.pk, brand.pk, at=timezone.now(), phone=PHONE)
    Device.objects.create(user=customer, brand=brand, token=uuid4().hex, platform="android")
    account = factories.account(customer, brand)
    for platform in Platform:
        wallet_pass, _is_new = passes.issue(account=account, platform=platform, at=timezone.now())
        WalletDevice.objects.create(wallet_pass=wallet_pass, device="phone", push_token="abcdef0123456789")
    Event.objects.create(
        source="shop.customer-app",
        detail_type="newsletter-wanted",
        brand=brand,
        status="ignored",
        detail={"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": {"name": FIRST, "mail": EMAIL}},
    )
    changes = audit_log.changes(customer, User(pk=customer.pk, email=EMAIL, first_name="Mina", last_name=LAST))
    audit_log.record(
        audit_context=system_context(),
        action="Changed",
        rows=[AuditedChange(customer, brand.pk, changes), AuditedChange(account, brand.pk)],
    )
    return customer_api


def system_context(reason=""):
    return AuditContext(None, timezone.now(), reason=reason)


def erase(customer, brand):
    return erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=system_context("Asked by letter"))


def find_texts(*texts):
    """The tables with a row that contains one of the texts in any column, each with that text."""
    matches = []
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            for text in texts:
                cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{text}%"])
                if cursor.fetchone()[0]:
                    matches.append((table, text))
    return matches


def deliver_all_events():
    worker.drain()
    for lane in messages.slow_lanes():
        worker.drain_slow(lane=lane)
