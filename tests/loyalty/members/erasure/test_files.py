"""Import and export files that may name an erased customer are deleted, also those in progress."""

import io
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.http import QueryDict
from django.utils import timezone

from brands.models.idempotent_requests import IdempotentRequest
from jobs import files, runner
from jobs.models import Job, StagedUpload
from loyalty.notifications import preferences
from portal.base.job_panel import is_on_offer
from portal.import_export import large_files, tables
from tests.loyalty.members.erasure.conftest import (
    EMAIL,
    FIRST,
    LAST,
    PERSONAL_TEXTS,
    PHONE,
    deliver_all_events,
    erase,
    find_texts,
)
from tests.support import factories

MEMBERS_FILE = f"email,first_name,last_name,external_id\n{EMAIL},{FIRST},{LAST},CRM-1\nbob@example.com,Bob,,\n"


@pytest.mark.django_db(transaction=True)
def test_import_previews_and_stored_answers_lose_personal_data(api, named_customer, brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    hub, path = api.hub(), "brand/imports/members"
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    staged = hub.call("POST", path, **upload).json()["data"]
    confirmed = hub.post(f"{path}/{staged['id']}/confirm", {"digest": staged["digest"]}, idempotency_key="once")
    assert confirmed.status_code == 200, confirmed.content
    product_answer = hub.post("brand/products", {"sku": "MUG", "title": "Mug"}, idempotency_key="another")
    assert product_answer.status_code == 201, product_answer.content
    assert "brands_idempotentrequest" in {table for table, _text in find_texts(EMAIL)}

    erase(named_customer, brand)
    deliver_all_events()

    assert find_texts(*PERSONAL_TEXTS) == []
    assert IdempotentRequest.objects.get().key == "another"


@pytest.mark.django_db(transaction=True)
def test_import_check_running_during_erasure_stores_no_preview(
    api, named_customer, brand, settings, tmp_path, monkeypatch
):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    answer = api.hub().call("POST", "brand/imports/members", **upload)
    original_plans = large_files.imports.plans

    def plans_with_erasure(*arguments):
        yield from original_plans(*arguments)
        erase(named_customer, brand)

    monkeypatch.setattr(large_files.imports, "plans", plans_with_erasure)

    runner.run(answer.json()["data"]["job_id"])
    deliver_all_events()

    assert StagedUpload.objects.get().status == "rejected"
    assert find_texts(*PERSONAL_TEXTS) == []


def create_export(brand, kind, **fields):
    return Job.objects.create(brand=brand, kind=kind, title=f"Scans of {EMAIL}", parameters={"q": EMAIL}, **fields)


def test_exports_that_may_name_the_customer_are_withdrawn_and_deleted(brand, named_customer, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    in_a_week = timezone.now() + timedelta(days=7)
    done_fields = {"status": "done", "expires_at": in_a_week}
    personal_export = create_export(brand, "export-scans", **done_fields)
    personal_export.result.save("scans.csv", ContentFile(EMAIL.encode()))
    code_export = Job.objects.create(brand=brand, kind="export-unscanned", title="Codes", **done_fields)
    code_export.result.save("codes.csv", ContentFile(b"code"))
    foreign_export = Job.objects.create(brand=factories.brand(), kind="export-scans", title="Theirs", **done_fields)
    foreign_export.result.save("theirs.csv", ContentFile(b"theirs"))

    erase(named_customer, brand)

    personal_export.refresh_from_db()
    assert not is_on_offer(personal_export)
    files.purge_files()
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.csv"))] == [b"code", b"theirs"]
    assert EMAIL not in f"{personal_export.title} {personal_export.parameters}"


@pytest.mark.parametrize("search_text", [EMAIL, f"{FIRST} {LAST}", f"{LAST}, {FIRST}", LAST, "+41 79 123 45 67"])
def test_export_loses_a_search_for_the_erased_customer(brand, named_customer, search_text):
    factories.points(named_customer, brand, 1)
    preferences.change(named_customer.pk, brand.pk, at=timezone.now(), phone=PHONE)
    query = QueryDict(mutable=True)
    query.update({"q": search_text, "status": "active"})
    parameters = {"query": query.urlencode(), "format": "csv", "time_zone": "UTC"}
    job = Job.objects.create(brand=brand, kind="export-members", title="Members", parameters=parameters, status="done")

    erase(named_customer, brand)

    job.refresh_from_db()
    remaining_query = QueryDict(job.parameters["query"])
    assert (search_text in remaining_query["q"], remaining_query["status"]) == (False, "active")


def test_export_running_during_erasure_saves_no_file(brand, named_customer, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    running = create_export(brand, "export-scans", status="running", attempts=1, alive_at=timezone.now())
    run = runner.Run(running)

    erase(named_customer, brand)

    with pytest.raises(runner.JobCancelledError):
        run.save_file(io.BytesIO(EMAIL.encode()), name="scans.csv")
    assert not list(tmp_path.rglob("*.csv"))
