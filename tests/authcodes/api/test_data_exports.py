"""A customer's data as a file, which a job writes and only the customer and the brand's staff can download."""

import json
from datetime import timedelta
from urllib.parse import parse_qsl

import pytest
import time_machine
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from authcodes import data_exports
from authcodes.tasks import purge_files
from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from events import worker
from jobs import queue, runner
from jobs.models import Job
from loyalty.integrations import webhook_endpoints
from loyalty.members import erasure
from tests.support import factories
from tests.support.portal import address, browser, staff, text

KIND = "export-customer-data"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "data_export": "1000/day", "read": "1000/minute"}


def request_export(caller):
    response = caller.post("customer/data-export")
    assert response.status_code == 202, response.content
    return response.json()["data"]


def run_job(customer):
    job = Job.objects.get(customer=customer, kind=KIND, status="queued")
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def run_export(caller, customer):
    request_export(caller)
    job = run_job(customer)
    assert job.status == "done", job.log
    return caller.get("customer/data-export").json()["data"]


def download(caller, state):
    path, _, query = state["download_url"].removeprefix("/api/v1/").partition("?")
    return caller.get(path, **dict(parse_qsl(query)))


def content_of(response):
    assert response.status_code == 200, response
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return json.loads(content)["data"]


def start(brand, customer, by=None):
    with transaction.atomic():
        return data_exports.start(brand=brand, customer=customer, by=by, at=timezone.now())


def test_export_has_all_data_that_the_brand_stores_of_the_customer(api, brand, customer, deliver_events):
    customer_api = api.as_customer(customer)
    webhook_endpoints.create(brand=brand, url="https://shop.example/hook", types=["code.scanned"], at=timezone.now())
    factories.points(customer, brand, 30)
    factories.redemption(customer, factories.reward(brand, name="A mug"))
    customer_api.verify(factories.code(brand), latitude=46.9, longitude=7.4)
    deliver_events()
    worker.drain_slow(lane="announce")

    assert request_export(customer_api)["status"] == "queued"
    run_job(customer)
    state = customer_api.get("customer/data-export").json()["data"]
    response = download(customer_api, state)
    data = content_of(response)

    assert (state["status"], state["bytes"]) == ("done", Job.objects.get(kind=KIND).result_bytes)
    assert response["Cache-Control"] == "no-store"
    assert data["loyalty"]["person"]["email"] == customer.email
    assert len(data["loyalty"]["transactions"]) == 3
    assert [entry["name"] for entry in data["loyalty"]["redemptions"]] == ["A mug"]
    assert [entry["latitude"] for entry in data["scans"]] == [46.9]
    assert [(webhook["type"], webhook["data"]["latitude"]) for webhook in data["webhooks"]] == [("code.scanned", 46.9)]
    assert "notices" in data


def test_export_has_no_data_of_other_customers_or_brands(api, brand, customer):
    other, neighbour = factories.brand(name="Elsewhere"), factories.customer(brand)
    factories.accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=customer.date_joined)
    factories.points(customer, other, 70, reason_id="secret:1")
    factories.points(neighbour, brand, 7, reason_id="secret:2")
    customer_api = api.as_customer(customer)

    state = run_export(customer_api, customer)

    assert b"secret" not in download(customer_api, state).content
    assert api.as_customer(customer, brand=other).get("customer/data-export").status_code == 404


def test_repeated_request_starts_no_second_export_while_one_is_queued(api, brand, customer):
    customer_api = api.as_customer(customer)
    request_export(customer_api)
    jobs_before = list(Job.objects.values_list("pk", flat=True))

    request_export(customer_api)
    start(brand, customer, by=staff(brand))

    assert list(Job.objects.values_list("pk", flat=True)) == jobs_before


def test_new_export_replaces_the_previous_one(api, customer):
    customer_api = api.as_customer(customer)
    previous = run_export(customer_api, customer)

    current = run_export(customer_api, customer)

    assert download(customer_api, previous).status_code == 404
    assert download(customer_api, current).status_code == 200
    assert purge_files() == 1
    assert Job.objects.exclude(result="").count() == 1


class TestDownloadLink:
    @pytest.fixture
    def state(self, api, customer):
        return run_export(api.as_customer(customer), customer)

    def test_is_valid_only_for_its_customer(self, api, brand, customer, state):
        assert download(api.with_headers(), state).status_code == 401
        assert download(api.as_customer(factories.customer(brand)), state).status_code == 404
        assert download(api.as_customer(customer, brand=factories.brand()), state).status_code == 404

    def test_is_invalid_once_changed(self, api, customer, state):
        assert download(api.as_customer(customer), state).status_code == 200
        state["download_url"] += "x"
        assert download(api.as_customer(customer), state).status_code == 404
        state["download_url"] += "y" * 3000
        assert download(api.as_customer(customer), state).status_code == 404

    def test_expires_and_can_be_renewed(self, api, customer, state):
        with time_machine.travel(timezone.now() + timedelta(minutes=16)):
            customer_api = api.as_customer(customer)
            assert download(customer_api, state).status_code == 404
            assert download(customer_api, customer_api.get("customer/data-export").json()["data"]).status_code == 200

    @pytest.mark.usefixtures("state")
    def test_and_its_file_are_deleted_after_the_retention(self, api, customer):
        file = Job.objects.get().result.name
        assert default_storage.exists(file)
        with time_machine.travel(timezone.now() + timedelta(days=8)):
            customer_api = api.as_customer(customer)
            export = customer_api.get("customer/data-export").json()["data"]
            assert (export["status"], export["download_url"], export["bytes"]) == ("expired", None, None)
            assert customer_api.get("customer/data").status_code == 404
            assert purge_files() == 1
        assert not default_storage.exists(file)


def test_export_and_file_are_not_found_before_the_export_is_done(api, customer):
    customer_api = api.as_customer(customer)

    assert customer_api.get("customer/data-export").status_code == 404
    assert customer_api.get("customer/data").status_code == 404
    request_export(customer_api)
    assert customer_api.get("customer/data").status_code == 404


def test_requests_of_a_customer_are_limited_per_day(api, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "data_export": "2/day"}
    customer_api = api.as_customer(customer)
    request_export(customer_api)
    request_export(customer_api)

    assert customer_api.post("customer/data-export").status_code == 429


def test_export_counts_towards_the_storage_quota_and_fails_above_it(api, brand, customer):
    customer_api = api.as_customer(customer)
    before = quotas.counted([brand.pk], ["storage"]).get((brand.pk, "storage"), 0)
    state = run_export(customer_api, customer)
    assert quotas.counted([brand.pk], ["storage"])[brand.pk, "storage"] == before + state["bytes"]
    BrandQuota.objects.create(brand=brand, resource="storage", limit=1)

    request_export(customer_api)
    job = run_job(customer)

    assert (job.status, "Your brand can store 1 bytes" in job.log) == ("failed", True)
    assert customer_api.get("customer/data-export").json()["data"]["status"] == "failed"


class TestQueue:
    """However many exports customers request, the brand's own jobs do not wait for them."""

    @pytest.fixture(autouse=True)
    def queued_exports(self, brand):
        self.exports = [start(brand, factories.customer(brand)) for _ in range(5)]

    def start_brand_job(self, brand):
        return queue.start(brand=brand, kind="generate", title="x", parameters={}, by=None)

    def next_jobs(self):
        return list(queue.in_turn().values_list("pk", flat=True))

    def test_runs_one_export_at_a_time_after_the_brands_own_jobs(self, brand):
        brand_jobs = [self.start_brand_job(brand) for _ in range(3)]
        assert self.next_jobs()[:2] == [brand_jobs[0].pk, self.exports[0].pk]

        Job.objects.filter(pk=self.exports[0].pk).update(status="running", alive_at=timezone.now())

        assert self.next_jobs() == [brand_jobs[0].pk]

    def test_exports_do_not_count_towards_the_job_quota(self, brand):
        BrandQuota.objects.create(brand=brand, resource="jobs", limit=1)
        self.start_brand_job(brand)
        start(brand, factories.customer(brand))

    def test_excess_queued_exports_are_rejected_with_retry_after(self, api, customer, monkeypatch):
        monkeypatch.setattr(data_exports, "MAX_QUEUED_EXPORTS", 5)

        response = api.as_customer(customer).post("customer/data-export")

        assert (response.status_code, response["Retry-After"]) == (429, "300")


class TestStaff:
    def member_page(self, brand, customer, action):
        return address("loyalty.userpoints", action, factories.account(customer, brand).pk)

    def test_export_with_a_reason_and_download_are_logged(self, brand, customer):
        owner = browser(staff(brand))
        url = address("loyalty.userpoints", "export_data", factories.account(customer, brand).pk)
        assert "Export this customer" in text(owner.get(self.member_page(brand, customer, "change")))
        assert "no data of other brands" in text(owner.get(url))
        assert "This field is required" in text(owner.post(url, {"reason": ""}))

        owner.post(url, {"reason": "They asked by letter."})
        job = run_job(customer)
        page = owner.get(address("jobs.job", "change", job.pk))
        file = owner.get(address("jobs.job", "download", job.pk))

        assert customer.email in text(page)
        assert content_of(file)["loyalty"]["person"]["email"] == customer.email
        entries = AuditLogEntry.objects.filter(action__in=["Data exported", "Downloaded"]).order_by("id")
        assert [(entry.action, entry.reason) for entry in entries] == [
            ("Data exported", "They asked by letter."),
            ("Downloaded", ""),
        ]

    @pytest.mark.parametrize("role", ["support", "printer"])
    def test_without_the_permission_can_neither_start_nor_download_an_export(self, brand, customer, role):
        job = start(brand, customer)
        runner.run(job.pk)
        client = browser(staff(brand, role=role))

        url = address("loyalty.userpoints", "export_data", factories.account(customer, brand).pk)
        assert client.post(url, {"reason": "x"}).status_code in (403, 404)
        assert client.get(address("jobs.job", "download", job.pk)).status_code in (403, 404)

    def test_of_another_brand_do_not_find_the_export(self, brand, customer):
        job = start(brand, customer)
        runner.run(job.pk)
        other = browser(staff(factories.brand()))

        url = address("loyalty.userpoints", "export_data", factories.account(customer, brand).pk)
        assert other.post(url, {"reason": "x"}).status_code == 404
        assert other.get(address("jobs.job", "download", job.pk)).status_code == 404
        assert other.get(address("jobs.job", "change", job.pk)).status_code == 404


def erase(customer, brand):
    return erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


@pytest.mark.parametrize("stays_elsewhere", [True, False])
def test_erasing_a_customer_erases_their_exports(brand, customer, stays_elsewhere):
    finished = start(brand, customer)
    runner.run(finished.pk)
    file = Job.objects.get(pk=finished.pk).result.name
    assert default_storage.exists(file)
    queued = start(brand, customer)
    other_customers_export = start(brand, factories.customer(brand))
    if stays_elsewhere:
        factories.accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())

    erased = erase(customer, brand)
    runner.run(queued.pk)
    purge_files()

    assert not default_storage.exists(file)
    assert list(Job.objects.order_by("pk").values_list("status", "result", "customer")) == [
        ("done", "", erased.pseudonym_id),
        ("cancelled", "", erased.pseudonym_id),
        ("queued", "", other_customers_export.customer_id),
    ]
