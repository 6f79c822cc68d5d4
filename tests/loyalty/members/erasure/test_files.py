"""Files of imports and exports that may name an erased person are gone, also those being made."""

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
from tests.loyalty.members.erasure.conftest import EMAIL, FIRST, LAST, PHONE, TRACES, deliver_all, erase, traces
from tests.support import factories

MEMBERS_FILE = f"email,first_name,last_name,external_id\n{EMAIL},{FIRST},{LAST},CRM-1\nbob@example.com,Bob,,\n"


@pytest.mark.django_db(transaction=True)
def test_neither_previews_of_imports_nor_their_kept_answers_hold_a_name(api, person, brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    hub, path = api.hub(), "brand/imports/members"
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    found = hub.call("POST", path, **upload).json()["data"]
    confirmed = hub.post(f"{path}/{found['id']}/confirm", {"digest": found["digest"]}, idempotency_key="once")
    assert confirmed.status_code == 200, confirmed.content
    kept = hub.post("brand/products", {"sku": "MUG", "title": "Mug"}, idempotency_key="another")
    assert kept.status_code == 201, kept.content
    assert "brands_idempotentrequest" in {table for table, _word in traces(EMAIL)}

    erase(person, brand)
    deliver_all()

    assert traces(*TRACES) == []
    assert IdempotentRequest.objects.get().key == "another"


@pytest.mark.django_db(transaction=True)
def test_a_check_that_runs_during_an_erasure_keeps_no_preview(api, person, brand, settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    answer = api.hub().call("POST", "brand/imports/members", **upload)
    check = large_files.imports.plans

    def erased_meanwhile(*arguments):
        yield from check(*arguments)
        erase(person, brand)

    monkeypatch.setattr(large_files.imports, "plans", erased_meanwhile)

    runner.run(answer.json()["data"]["job_id"])
    deliver_all()

    assert StagedUpload.objects.get().status == "rejected"
    assert traces(*TRACES) == []


def exported(brand, kind, **fields):
    return Job.objects.create(brand=brand, kind=kind, title=f"Scans of {EMAIL}", parameters={"q": EMAIL}, **fields)


def test_files_that_may_name_the_person_are_off_offer_at_once_and_deleted(brand, person, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    week = timezone.now() + timedelta(days=7)
    done = {"status": "done", "expires_at": week}
    named = exported(brand, "export-scans", **done)
    named.result.save("scans.csv", ContentFile(EMAIL.encode()))
    codes = Job.objects.create(brand=brand, kind="export-unscanned", title="Codes", **done)
    codes.result.save("codes.csv", ContentFile(b"code"))
    foreign = Job.objects.create(brand=factories.brand(), kind="export-scans", title="Theirs", **done)
    foreign.result.save("theirs.csv", ContentFile(b"theirs"))

    erase(person, brand)

    named.refresh_from_db()
    assert not is_on_offer(named)
    files.purge_files()
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.csv"))] == [b"code", b"theirs"]
    assert EMAIL not in f"{named.title} {named.parameters}"


@pytest.mark.parametrize("search_text", [EMAIL, f"{FIRST} {LAST}", f"{LAST}, {FIRST}", LAST, "+41 79 123 45 67"])
def test_an_export_forgets_the_person_whom_its_list_was_searched_for(brand, person, search_text):
    factories.points(person, brand, 1)
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    query = QueryDict(mutable=True)
    query.update({"q": search_text, "status": "active"})
    parameters = {"query": query.urlencode(), "format": "csv", "time_zone": "UTC"}
    job = Job.objects.create(brand=brand, kind="export-members", title="Members", parameters=parameters, status="done")

    erase(person, brand)

    job.refresh_from_db()
    kept = QueryDict(job.parameters["query"])
    assert (search_text in kept["q"], kept["status"]) == (False, "active")


def test_an_export_that_runs_meanwhile_offers_no_file(brand, person, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    running = exported(brand, "export-scans", status="running", attempts=1, alive_at=timezone.now())
    run = runner.Run(running)

    erase(person, brand)

    with pytest.raises(runner.JobCancelledError):
        run.save_file(io.BytesIO(EMAIL.encode()), name="scans.csv")
    assert not list(tmp_path.rglob("*.csv"))
