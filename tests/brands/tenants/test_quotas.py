"""Quotas: what a brand may use of the installation, rejected or delayed above it, counted for that brand alone."""

import io
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from authcodes.codes import batches, prefixes
from authcodes.codes.batches import BatchSettings
from authcodes.imports import uploads
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.models.audit import AuditLogEntry
from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from core.errors import QuotaReached, RateLimited
from core.redis import client
from events.models import Event
from jobs import queue, runner
from jobs.models import Job
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.webhooks import endpoint, hasten, send
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.fakes.fake_http import receiver, reset_breakers
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_counters(monkeypatch):
    """Delete the counts of other runs, whose brands had the same ids."""
    quotas.reset_limits()
    monkeypatch.setattr(client, "outage", client.OutageState())
    for key in client.client().scan_iter("quota:*"):
        client.client().delete(key)


@pytest.fixture
def neighbour(db):
    return factories.brand()


def set_quota(brand, resource, limit):
    BrandQuota.objects.update_or_create(brand=brand, resource=resource, defaults={"limit": limit})
    quotas.reset_limits()


def used(brand, resource):
    [of_brand] = quotas.usage_of([brand])
    return next(usage.used for usage in of_brand.usages if usage.resource == resource)


def create_batch(brand, quantity, prefix="Q-"):
    batch_settings = BatchSettings(range_name=prefix, quantity=quantity, prefix=prefix, number_width=4, signed=False)
    return batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def start_job(brand, kind="generate"):
    return queue.start(brand=brand, kind=kind, title="A test", parameters={}, by=None)


def upload(brand, content=b"auth_code,inventory_location,notes\nX-1,,\n"):
    return uploads.upload(
        brand=brand,
        kind="list",
        product=factories.product(brand),
        file=ContentFile(content, name="x.csv"),
        name="x.csv",
        by=staff(brand),
    )


# --- What is counted in tables ---------------------------------------------------------------------------------------


def test_codes_above_the_quota_are_rejected_for_that_brand_alone(brand, neighbour):
    set_quota(brand, "codes", 1_500)
    create_batch(brand, 1_000)

    with pytest.raises(QuotaReached) as raised:
        create_batch(brand, 501, "R-")

    assert raised.value.message == ("Your brand can have 1,500 codes and has 1,000. Ask the operator for more.")
    assert raised.value.details == {"field": "quantity"}
    create_batch(brand, 500, "R-")
    create_batch(neighbour, 2_000, "N-")
    assert (used(brand, "codes"), used(neighbour, "codes")) == (1_500, 2_000)


def create_concurrently(brand):
    for prefix in "ABCDEFGH":
        prefixes.reserve(brand=brand, prefix=f"{prefix}-", at=timezone.now(), by=None)
    results = run_concurrently(lambda prefix: create_batch(brand, 100, f"{prefix}-"), "ABCDEFGH", threads=8)
    return sum(isinstance(each, BatchRange) for each in results)


def test_concurrent_batches_do_not_exceed_the_quota(brand):
    set_quota(brand, "codes", 300)

    assert create_concurrently(brand) == 3


def test_concurrent_jobs_do_not_exceed_the_quota(brand):
    set_quota(brand, "jobs", 1)

    assert isinstance(run_during_transaction(lambda: start_job(brand), lambda: start_job(brand)), QuotaReached)


def test_control_job_created_without_the_lock_lets_another_exceed_the_quota(brand):
    set_quota(brand, "jobs", 1)

    def create_without_lock():
        Job.objects.create(brand=brand, kind="generate", title="A test")

    assert isinstance(run_during_transaction(create_without_lock, lambda: start_job(brand)), Job)
    assert Job.objects.count() == 2


def test_jobs_above_the_daily_quota_are_rejected_except_recall_notifications(brand, neighbour):
    set_quota(brand, "jobs", 1)
    with time_machine.travel(datetime(2026, 3, 1, 23, 50, tzinfo=UTC), tick=False):
        start_job(brand)
        with pytest.raises(QuotaReached, match="can start 1 jobs a day and has started 1 today"):
            start_job(brand)
        start_job(brand, "notify-recall")
        start_job(neighbour)
    with time_machine.travel(datetime(2026, 3, 2, 0, 0, 1, tzinfo=UTC), tick=False):
        start_job(brand)


def test_uploads_above_a_quota_are_rejected_and_leave_no_file(brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    set_quota(brand, "uploads", 1)
    upload(brand)

    with pytest.raises(QuotaReached, match="can upload 1 files a day"):
        upload(brand)
    set_quota(brand, "uploads", 0)
    set_quota(brand, "storage", 60)
    with pytest.raises(QuotaReached, match="can store 60 bytes and uses 41"):
        upload(brand)
    set_quota(brand, "storage", None)
    set_quota(brand, "jobs", 1)
    with pytest.raises(QuotaReached, match="jobs a day"):
        upload(brand)

    assert Import.objects.count() == 1
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_job_file_above_the_storage_quota_is_rejected_and_a_smaller_one_counts(brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    set_quota(brand, "storage", 10)
    job = start_job(brand)
    Job.objects.filter(pk=job.pk).update(status="running", attempts=1)
    job.refresh_from_db()

    with pytest.raises(QuotaReached, match="can store 10 bytes and uses 0"):
        runner.Run(job).save_file(io.BytesIO(b"x" * 11), name="x.csv")
    runner.Run(job).save_file(io.BytesIO(b"x" * 9), name="x.csv")

    assert used(brand, "storage") == 9


# --- What is counted while it happens --------------------------------------------------------------------------------


def test_events_above_the_quota_wait_until_midnight_utc(brand, neighbour):
    set_quota(brand, "events", 2)
    with time_machine.travel(datetime(2026, 3, 1, 23, 59, 30, tzinfo=UTC), tick=False):
        quotas.count_event(brand.pk)
        quotas.count_event(brand.pk)
        with pytest.raises(RateLimited) as raised:
            quotas.count_event(brand.pk)
        assert raised.value.retry_after == 30
        quotas.count_event(neighbour.pk)
        assert (used(brand, "events"), used(neighbour, "events")) == (2, 1)
    with time_machine.travel(datetime(2026, 3, 2, 0, 0, 0, tzinfo=UTC), tick=False):
        quotas.count_event(brand.pk)


def test_counters_are_exact_across_threads(brand):
    set_quota(brand, "events", 50)

    assert sum(run_concurrently(lambda _: quotas.take(brand.pk, quotas.Resource.EVENTS), range(200), threads=8)) == 50
    assert used(brand, "events") == 50


def test_hub_gets_429_until_midnight_and_app_calls_do_not_count(api, brand, customer):
    set_quota(brand, "events", 1)
    hub, app = api.as_customer(customer).hub(), api.as_customer(customer).app()
    codes = [factories.code(brand) for _ in range(3)]

    def act(caller, code):
        body = {"user_id": customer.pk, "brand_id": brand.pk, "type": "authenticator_scan"}
        return caller.post("brand/loyalty/campaign/event", {**body, "product": {"authCode": str(code)}})

    assert act(app, codes[0]).status_code == 200
    assert act(hub, codes[1]).status_code == 200
    rejected = act(hub, codes[2])

    assert error(rejected) == (429, "RATE_LIMITED")
    remaining_seconds = quotas.until_tomorrow(timezone.now()).total_seconds()
    assert 0 <= int(rejected["Retry-After"]) - remaining_seconds <= 5


def test_without_redis_all_events_are_accepted_and_their_use_is_unknown(brand, settings):
    set_quota(brand, "events", 1)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    for _ in range(3):
        quotas.count_event(brand.pk)

    assert used(brand, "events") is None


def test_webhook_deliveries_above_the_quota_wait_until_tomorrow(brand, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()
    set_quota(brand, "webhooks", 1)
    with receiver() as shop:
        hook = endpoint(brand, shop)
        first = webhook_events.ping(endpoint=hook, at=timezone.now())
        send()
        second = webhook_events.ping(endpoint=hook, at=timezone.now())
        send()
        assert states(first, second) == ["delivered", "waiting"]
        due = Event.objects.get(detail_type="call-webhook", status="pending").due_at
        tomorrow = quotas.begin_of_day(timezone.now()) + timedelta(days=1)
        assert abs(due - tomorrow) < timedelta(seconds=5)

        hasten()
        with time_machine.travel(tomorrow + timedelta(minutes=1)):
            send()
        assert states(first, second) == ["delivered", "delivered"]


def states(*messages):
    return [WebhookDelivery.objects.get(pk=each.pk).state for each in messages]


# --- The portal ------------------------------------------------------------------------------------------------------


def test_owner_sees_only_the_usage_of_their_own_brand(brand, neighbour):
    set_quota(brand, "codes", 1_000)
    create_batch(brand, 850)
    create_batch(neighbour, 7_770, "N-")
    set_quota(neighbour, "codes", 7_780)
    html = text(browser(staff(brand)).get(address("brands.brandquota")))

    assert "850 of 1,000" in html
    assert "85 %" in html
    assert html.count('fill="#f59e0b"') == 1
    assert neighbour.name not in html
    assert "7,770" not in html
    assert "7,780" not in html


@pytest.mark.parametrize(("quantity", "warned"), [(799, False), (800, True), (1_000, True)])
def test_front_page_warns_from_80_percent(brand, neighbour, quantity, warned):
    set_quota(brand, "codes", 1_000)
    create_batch(brand, quantity)

    assert (f"{quantity:,} of 1,000 used" in text(browser(staff(brand)).get("/admin/"))) is warned
    assert "of 1,000 used" not in text(browser(staff(neighbour)).get("/admin/"))
    assert "of 1,000 used" not in text(browser(staff(brand, role="printer")).get("/admin/"))


def test_only_operators_set_a_quota_and_it_is_audited(brand):
    operator = factories.user(is_staff=True, is_superuser=True)
    form_data = {"brand": brand.pk, "resource": "jobs", "limit": "7"}
    assert browser(staff(brand)).post(address("brands.brandquota", "add"), form_data).status_code == 403
    assert browser(operator).post(address("brands.brandquota", "add"), form_data).status_code == 302

    assert quotas.limit_of(brand.pk, quotas.Resource.JOBS) == 7
    entry = AuditLogEntry.objects.get(kind="brands.brandquota")
    assert (entry.user, entry.brand) == (operator, brand)


def test_page_that_starts_a_job_reports_that_the_quota_is_reached(brand):
    set_quota(brand, "jobs", 1)
    start_job(brand)
    answer = browser(staff(brand)).post(
        reverse("admin:authcodes_scan_export"), {"brand": brand.pk, "format": "csv"}, headers={"accept": "text/html"}
    )

    assert answer.status_code == 400
    assert "Your brand can start 1 jobs a day and has started 1 today." in text(answer)
    assert Job.objects.count() == 1


def test_batch_above_the_quota_is_rejected_in_its_form(brand):
    set_quota(brand, "codes", 5)
    form_data = {
        "brand": brand.pk,
        "range_name": "Large",
        "quantity": "6",
        "prefix": "L-",
        "starting_number": "1",
        "number_width": "4",
        "signed": "plain",
        "scan_limit": "1",
        "error_correction": "M",
    }
    answer = browser(staff(brand)).post(address("authcodes.batchrange", "add"), form_data, follow=True)

    assert "Your brand can have 5 codes and has 0." in text(answer)
    assert not BatchRange.objects.exists()
