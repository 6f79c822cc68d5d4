"""Webhook events about codes, batches and jobs, and the test message."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes import data_exports
from authcodes.codes import bulk_changes, ranges
from authcodes.codes.bulk_changes import CodeChangeRequest, Kind
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from core.json_values import iso
from events.models import Event
from jobs import queue, runner
from jobs.models import Job
from loyalty.integrations import webhook_events
from tests.loyalty.integrations.webhooks import data_of, endpoint, send
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def run_jobs():
    for job in Job.objects.unfinished():
        runner.run(job.pk)


def test_code_scanned(brand, customer, received):
    product = factories.product(brand)
    for code, user_id in ((factories.code(brand, product=product), customer.pk), (factories.expired_code(brand), None)):
        scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=user_id))

    user_ids = {data["reason"]: data.get("user_id") for data in received("code.scanned")}
    assert user_ids == {"accepted": customer.pk, "expired": None}


def test_batch_recalled(brand, received):
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)

    [data] = received("batch.recalled")
    assert (data["recall_id"], data["batch"]["id"]) == ("R-1", batch.pk)


def test_webhook_test(brand, shop):
    hook = endpoint(brand, shop, types=[])
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    assert data_of(shop, "webhook.test") == [{"webhook": hook.pk, "message": "Hello."}]


def test_codes_deactivated(brand, received):
    batch = factories.batch(brand, quantity=10)
    codes = list(batch.codes.order_by("code"))
    factories.deactivate(codes=[codes[1]], at=timezone.now())
    factories.deactivate(codes=[*codes[0:3], codes[7]], at=timezone.now(), reason="Stolen")

    # They arrive in any order.
    [first, second] = sorted(received("codes.deactivated"), key=lambda each: each["codes"])
    assert (first["codes"], second["codes"]) == (1, 3)
    assert [(each["first_code"], each["last_code"], each["codes"]) for each in second["ranges"]] == [
        (codes[0].code, codes[0].code, 1),
        (codes[2].code, codes[2].code, 1),
        (codes[7].code, codes[7].code, 1),
    ]
    assert {each["batch_id"] for each in second["ranges"]} == {batch.pk}
    assert "Stolen" not in str(second)


def test_codes_reactivated(brand, received):
    batch = factories.batch(brand, quantity=10)
    all_codes = ranges.full_range(batch)
    for kind in (Kind.DEACTIVATED, Kind.REACTIVATED, Kind.REACTIVATED):
        bulk_changes.change(codes=all_codes, requested=CodeChangeRequest(kind), by=None, at=timezone.now())

    [data] = received("codes.reactivated")
    assert data.pop("action_id")
    assert data == {
        "codes": 10,
        "ranges": [{"batch_id": batch.pk, "first_code": batch.first_code, "last_code": batch.last_code, "codes": 10}],
    }


def test_job_in_several_parts_publishes_one_event_for_all_codes(brand, received, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    batch = factories.batch(brand, quantity=10)
    code_change = CodeChangeRequest(Kind.DEACTIVATED)
    job = bulk_changes.start_change(codes=ranges.full_range(batch), requested=code_change, by=None)
    run_jobs()

    assert received("codes.deactivated") == [
        {
            "action_id": job.parameters["action_id"],
            "codes": 10,
            "ranges": [
                {"batch_id": batch.pk, "first_code": batch.first_code, "last_code": batch.last_code, "codes": 10}
            ],
        }
    ]
    assert Event.objects.filter(detail_type="announce").count() == 2  # the other one is job.finished


def test_job_cancelled_half_way_publishes_the_codes_it_changed(brand, received, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    batch = factories.batch(brand, quantity=10)
    code_change = CodeChangeRequest(Kind.DEACTIVATED)
    job = bulk_changes.start_change(codes=ranges.full_range(batch), requested=code_change, by=None)
    change = bulk_changes.change

    def change_and_cancel(**arguments):
        queue.cancel(job=job)
        return change(**arguments)

    monkeypatch.setattr(bulk_changes, "change", change_and_cancel)
    run_jobs()

    assert [each["codes"] for each in received("codes.deactivated")] == [4]
    assert [each["status"] for each in received("job.finished")] == ["cancelled"]


def test_job_finished(brand, received):
    batch = factories.batch(brand, quantity=10)
    code_change = CodeChangeRequest(Kind.DEACTIVATED)
    job = bulk_changes.start_change(codes=ranges.full_range(batch), requested=code_change, by=None)
    run_jobs()
    runner.run(job.pk)

    [data] = received("job.finished")
    job.refresh_from_db()
    assert data == {
        "job_id": job.pk,
        "kind": "change-codes",
        "status": "done",
        "done": 10,
        "total": 10,
        "created_at": iso(job.created_at),
        "finished_at": iso(job.finished_at),
    }


def test_job_finished_is_sent_once_for_cancelled_and_abandoned_jobs(brand, received):
    batch = factories.batch(brand, quantity=10)
    code_change = CodeChangeRequest(Kind.DEACTIVATED)
    waiting, abandoned = (
        bulk_changes.start_change(codes=ranges.full_range(batch), requested=code_change, by=None) for _each in range(2)
    )
    queue.cancel(job=waiting)
    queue.cancel(job=waiting)
    long_ago = timezone.now() - timedelta(hours=1)
    Job.objects.filter(pk=abandoned.pk).update(status="running", attempts=queue.ATTEMPTS, alive_at=long_ago)
    queue.resume()
    queue.resume()

    results = {(each["job_id"], each["status"]) for each in received("job.finished")}
    assert results == {(waiting.pk, "cancelled"), (abandoned.pk, "failed")}
    assert len(received("job.finished")) == 2


def test_export_of_a_customers_data_sends_no_job_finished(brand, customer, received):
    job = queue.start(
        brand=brand, kind=data_exports.KIND, title="Their data", parameters={}, by=None, customer=customer
    )
    queue.cancel(job=job)

    assert received("job.finished") == []
