"""Only the owners get a mail about a quota that runs out, once a day however many tasks run."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from authcodes.models.batches import BatchRange
from brands.models.people import User
from brands.models.quotas import BrandQuota, QuotaMail
from brands.staff_login import mails, quota_mails
from brands.staff_login.models import StaffMail
from brands.tenants import quotas
from core.redis import client
from tests.support import factories
from tests.support.concurrency import run_during_transaction
from tests.support.portal import staff

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def fresh_counters():
    quotas.reset_limits()
    for key in client.client().scan_iter("quota:*"):
        client.client().delete(key)


@pytest.fixture
def owner(brand):
    return staff(brand, email="owner@example.com")


def set_usage(brand, used, limit, resource="codes"):
    if resource == "codes":
        batch = BatchRange.objects.filter(brand=brand).first() or factories.batch(brand)
        BatchRange.objects.filter(pk=batch.pk).update(quantity=used)
    BrandQuota.objects.update_or_create(brand=brand, resource=resource, defaults={"limit": limit})


def send_due(at):
    """Send what is due, and return the recipient and the text of each mail."""
    mail.outbox.clear()
    quota_mails.send_due(at=at)
    mails.send_due(at=timezone.now())
    return [(each.to[0], each.body.splitlines()[2]) for each in mail.outbox]


def test_owners_are_notified_at_80_and_at_100_percent(brand, owner):
    staff(brand, role="manager")
    staff(brand, is_active=False)
    User.objects.filter(pk=staff(brand).pk).update(is_staff=False)
    set_usage(brand, 79, 100)
    assert send_due(NOON) == []

    set_usage(brand, 80, 100)
    assert send_due(NOON) == [("owner@example.com", f"{brand} uses 80 % of a quota. Codes: 80 of 100.")]
    assert send_due(NOON + timedelta(hours=1)) == []

    set_usage(brand, 100, 100)
    assert send_due(NOON + timedelta(hours=2)) == [
        ("owner@example.com", f"{brand} uses 100 % of a quota. Codes: 100 of 100.")
    ]
    assert send_due(NOON + timedelta(hours=3)) == []


def test_lasting_quotas_are_reported_weekly_and_daily_quotas_each_day(brand, owner):
    set_usage(brand, 90, 100)
    assert len(send_due(NOON)) == 1
    assert send_due(NOON + timedelta(days=6)) == []
    assert len(send_due(NOON + timedelta(days=7))) == 1

    BrandQuota.objects.filter(brand=brand).delete()
    set_usage(brand, 0, 1, "mails")
    quotas.take(brand.pk, quotas.Resource.MAILS)
    assert len(send_due(NOON)) == 1
    assert send_due(NOON + timedelta(hours=11)) == []
    assert len(send_due(NOON + timedelta(days=1))) == 1


def test_owners_of_other_brands_are_not_notified(brand, owner):
    other = factories.brand()
    staff(other, email="other@example.com")
    set_usage(brand, 100, 100)

    assert {to for to, _text in send_due(NOON)} == {"owner@example.com"}


def test_old_quota_mails_are_purged(brand):
    QuotaMail.objects.create(brand=brand, resource="codes", percent=80, day=NOON.date() - timedelta(days=31))

    quota_mails.send_due(at=NOON)

    assert not QuotaMail.objects.exists()


def run_two_tasks_concurrently():
    run_during_transaction(lambda: quota_mails.send_due(at=NOON), lambda: quota_mails.send_due(at=NOON))
    return StaffMail.objects.filter(kind=StaffMail.Kind.QUOTA).count()


@pytest.mark.usefixtures("owner")
def test_two_concurrent_tasks_send_one_mail(brand):
    set_usage(brand, 100, 100)

    assert run_two_tasks_concurrently() == 1


@contextmanager
def without_the_constraint():
    table, name = "brands_quotamail", "quota_notice_once_a_day"
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    yield
    QuotaMail.objects.all().delete()
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE (brand_id, resource, percent, day)")


@pytest.mark.usefixtures("owner")
def test_control_without_the_constraint_each_task_sends_a_mail(brand):
    set_usage(brand, 100, 100)

    with without_the_constraint():
        assert run_two_tasks_concurrently() == 2
