"""The portal's jobs: starting exports, watching, cancelling, and who may."""

import io
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.models.imports import Import
from brands.models.people import StaffRole
from jobs import kinds, runner
from jobs.models import Job
from tests.jobs.job_pages import download, job_of, messages_of, with_file
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def export_address(label, query=""):
    return address(label, "export") + query


def test_export_of_the_list_is_started_and_its_page_opened(client, brand):
    answer = client.post(
        export_address("authcodes.scan", "?reason__exact=accepted&p=3"), {"brand": brand.pk, "format": "xlsx"}
    )

    job = Job.objects.get()
    assert answer.headers["Location"] == address("jobs.job", "change", job.pk)
    assert (job.kind, job.brand, job.status) == ("export-scans", brand, "queued")
    assert job.parameters == {"query": "reason__exact=accepted", "format": "xlsx", "time_zone": "UTC"}
    assert job.created_by.staff_roles.get().brand == brand


def test_list_leads_to_its_export_with_its_filters(client):
    shown = text(client.get(address("authcodes.authcode"), {"status": "expired", "q": "AB"}))

    assert f'href="{export_address("authcodes.authcode", "?status=expired&amp;q=AB")}"' in shown
    page = text(client.get(export_address("authcodes.authcode", "?status=expired&q=AB")))
    assert "Status: Expired" in page
    assert "Search: AB" in page


def test_export_page_names_the_filters_as_the_list_does(client, brand):
    batch = factories.batch(brand, range_name="Spring tea")
    query = f"?batch__id__exact={batch.pk}&reason__exact=bad_tag&scanned_at_from=2026-03-01"

    assert client.get(export_address("authcodes.scan", query)).context["filters"] == [
        "Reason: Signature missing or wrong",
        "Scanned from: 1 Mar 2026",
        "Batch: Spring tea",
    ]


def test_export_page_does_not_name_another_brands_row(client):
    zebra = factories.batch(factories.brand(), range_name="zebra range")

    shown = text(client.get(export_address("authcodes.scan", f"?batch__id__exact={zebra.pk}")))

    assert "zebra" not in shown


def test_opening_the_export_page_starts_nothing(client):
    assert client.get(export_address("authcodes.scan")).status_code == 200
    assert not Job.objects.exists()


def test_filter_that_cannot_be_can_be_undone_to_the_list(client):
    answer = client.get(export_address("authcodes.scan", "?batch__id__exact=x"))

    assert answer.headers["Location"] == address("authcodes.scan") + "?e=1"


def test_export_for_another_brand_is_refused(client):
    zebra = factories.brand(name="zebra")

    answer = client.post(export_address("authcodes.scan"), {"brand": zebra.pk, "format": "csv"})

    assert answer.status_code == 200
    assert "zebra" not in text(answer)
    assert not Job.objects.exists()


def test_somebody_with_several_brands_exports_one_of_them(brand):
    other, third = factories.brand(name="Second"), factories.brand(name="Third")
    person = staff(brand, other)
    StaffRole.objects.create(user=person, brand=third, role="support")
    client = browser(person)

    offered = client.get(export_address("authcodes.scan")).context["form"].fields["brand"].queryset
    client.post(export_address("authcodes.scan"), {"brand": other.pk, "format": "csv"})

    assert set(offered) == {brand, other}
    assert Job.objects.get().brand == other


@pytest.mark.parametrize(
    ("role", "label", "status"),
    [
        ("manager", "authcodes.scan", 200),
        ("support", "authcodes.scan", 403),
        ("printer", "authcodes.scan", 403),
        ("printer", "authcodes.authcode", 200),
        ("support", "authcodes.authcode", 403),
    ],
)
def test_roles_export_what_they_see_if_they_run_jobs(brand, role, label, status):
    client = browser(staff(brand, role=role))

    assert client.get(export_address(label)).status_code == status
    assert (export_address(label) in text(client.get(address(label)))) is (status == 200)


def test_job_page_shows_progress_rate_and_log(client, brand):
    now = timezone.now()
    job = job_of(
        brand,
        status="running",
        done=500_000,
        total=1_000_000,
        log="12:00:00 Half of it.\n",
        started_at=now - timedelta(seconds=10),
        alive_at=now,
    )

    shown = text(client.get(address("jobs.job", "change", job.pk)))

    assert "500,000 of 1,000,000 (50 %)" in shown
    assert "50,000 a second" in shown
    assert "Half of it." in shown
    assert f'data-job="{job.pk}"' in shown
    assert "portal/live" in shown
    assert address("jobs.job", "cancel", job.pk) in shown


def test_script_is_told_the_same(client, brand):
    job = job_of(brand, status="running", done=1, total=4)

    progress = client.get(address("jobs.job", "progress"), {"id": [job.pk, "x", "9" * 40]}).json()["jobs"]

    assert [(one["id"], one["percent"], one["text"], one["ended"]) for one in progress] == [
        (job.pk, 25, "1 of 4 (25 %)", False)
    ]


def test_page_of_an_ended_job_is_not_watched(client, brand):
    shown = text(client.get(address("jobs.job", "change", with_file(job_of(brand)).pk)))

    assert "data-job=" not in shown
    assert "work.csv" in shown


def test_job_is_cancelled_by_the_button_of_a_page_that_says_what_becomes_of_it(client, brand):
    job = job_of(brand)
    where = address("jobs.job", "cancel", job.pk)

    shown = text(client.get(where))
    job.refresh_from_db()
    assert job.status == "queued"
    assert "Codes generated so far stay valid" in shown
    client.post(where)
    job.refresh_from_db()
    assert job.status == "cancelled"


def test_job_that_ended_is_not_cancelled(client, brand):
    job = with_file(job_of(brand))

    for ask in (client.get, client.post):
        assert messages_of(ask(address("jobs.job", "cancel", job.pk)))[-1:] == ["The job has already finished."]


def test_cancelling_is_explained_for_every_kind_of_job():
    assert len(kinds.declared()) == len(settings.JOB_KINDS)
    assert all(kind.on_cancel for kind in kinds.declared().values())


def uploaded(by):
    brand = by.staff_roles.get().brand
    return Import.objects.create(brand=brand, kind="list", file="a.csv", file_name="a.csv", uploaded_by=by)


# What is cancelled, and by whom of those who did not start it.
OTHERS = {
    "notify-recall": {"owner", "manager"},
    "commit-import": {"owner", "manager"},
    "generate": {"owner", "manager"},
    "print-batch": {"owner", "manager"},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_who_did_not_start_a_job_cancels_it_where_they_lead(brand, kind):
    somebody = staff(brand)
    parameters = {"import_id": uploaded(somebody).pk}
    cancelled = set()

    for role in ("owner", "manager", "printer", "support"):
        job, client = job_of(brand, kind, created_by=somebody, parameters=parameters), browser(staff(brand, role=role))
        where = address("jobs.job", "cancel", job.pk)
        offered = where in text(client.get(address("jobs.job", "change", job.pk)))
        allowed = client.post(where).status_code == 302
        job.refresh_from_db()
        assert offered is allowed is (job.status == "cancelled")
        cancelled |= {role} if allowed else set()

    assert cancelled == OTHERS[kind]


@pytest.mark.parametrize(("kind", "status"), [("generate", 302), ("commit-import", 302), ("notify-recall", 403)])
def test_printer_cancels_own_work_but_no_warning_of_customers(brand, kind, status):
    printer = staff(brand, role="printer")
    job = job_of(brand, kind, created_by=printer, parameters={"import_id": uploaded(printer).pk})

    assert browser(printer).post(address("jobs.job", "cancel", job.pk)).status_code == status


def test_job_page_asks_as_much_of_a_long_log_as_of_none(client, brand):
    short, long = job_of(brand), job_of(brand, log="A line.\n" * 1000)

    def count_queries(job):
        with CaptureQueriesContext(connection) as queries:
            client.get(address("jobs.job", "change", job.pk))
        return len(queries)

    assert count_queries(short) == count_queries(long) <= 15


@pytest.mark.django_db(transaction=True)
def test_from_the_list_to_the_file():
    brand = factories.brand()
    client = browser(staff(brand))
    matching, other = (scan(factories.code(brand)) for _ in range(2))
    query = f"?q={matching.code}"

    client.post(export_address("authcodes.scan", query), {"brand": brand.pk, "format": "csv"})
    job = Job.objects.get()
    runner.run(job.pk)

    lines = io.BytesIO(b"".join(download(client, job).streaming_content)).read().decode()
    assert matching.code in lines
    assert other.code not in lines
