"""The portal's job pages: starting exports, watching and cancelling jobs, and the permissions for it."""

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
from tests.jobs.job_pages import create_job, download, messages_of, with_file
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def export_address(label, query=""):
    return address(label, "export") + query


def test_export_of_a_list_starts_a_job_and_opens_its_page(client, brand):
    answer = client.post(
        export_address("authcodes.scan", "?reason__exact=accepted&p=3"), {"brand": brand.pk, "format": "xlsx"}
    )

    job = Job.objects.get()
    assert answer.headers["Location"] == address("jobs.job", "change", job.pk)
    assert (job.kind, job.brand, job.status) == ("export-scans", brand, "queued")
    assert job.parameters == {"query": "reason__exact=accepted", "format": "xlsx", "time_zone": "UTC"}
    assert job.created_by.staff_roles.get().brand == brand


def test_list_links_to_its_export_with_its_filters(client):
    html = text(client.get(address("authcodes.authcode"), {"status": "expired", "q": "AB"}))

    assert f'href="{export_address("authcodes.authcode", "?status=expired&amp;q=AB")}"' in html
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

    html = text(client.get(export_address("authcodes.scan", f"?batch__id__exact={zebra.pk}")))

    assert "zebra" not in html


def test_opening_the_export_page_starts_no_job(client):
    assert client.get(export_address("authcodes.scan")).status_code == 200
    assert not Job.objects.exists()


def test_export_with_an_invalid_filter_redirects_to_the_list(client):
    answer = client.get(export_address("authcodes.scan", "?batch__id__exact=x"))

    assert answer.headers["Location"] == address("authcodes.scan") + "?e=1"


def test_export_for_another_brand_is_rejected(client):
    zebra = factories.brand(name="zebra")

    answer = client.post(export_address("authcodes.scan"), {"brand": zebra.pk, "format": "csv"})

    assert answer.status_code == 200
    assert "zebra" not in text(answer)
    assert not Job.objects.exists()


def test_user_with_several_brands_exports_one_of_them(brand):
    other, third = factories.brand(name="Second"), factories.brand(name="Third")
    user = staff(brand, other)
    StaffRole.objects.create(user=user, brand=third, role="support")
    client = browser(user)

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
def test_roles_that_run_jobs_export_the_lists_they_see(brand, role, label, status):
    client = browser(staff(brand, role=role))

    assert client.get(export_address(label)).status_code == status
    assert (export_address(label) in text(client.get(address(label)))) is (status == 200)


def test_job_page_shows_progress_rate_and_log(client, brand):
    now = timezone.now()
    job = create_job(
        brand,
        status="running",
        done=500_000,
        total=1_000_000,
        log="12:00:00 Half of it.\n",
        started_at=now - timedelta(seconds=10),
        alive_at=now,
    )

    html = text(client.get(address("jobs.job", "change", job.pk)))

    assert "500,000 of 1,000,000 (50 %)" in html
    assert "50,000 a second" in html
    assert "Half of it." in html
    assert f'data-job="{job.pk}"' in html
    assert "portal/live" in html
    assert address("jobs.job", "cancel", job.pk) in html


def test_progress_endpoint_returns_the_same_figures(client, brand):
    job = create_job(brand, status="running", done=1, total=4)

    progress = client.get(address("jobs.job", "progress"), {"id": [job.pk, "x", "9" * 40]}).json()["jobs"]

    assert [(each["id"], each["percent"], each["text"], each["ended"]) for each in progress] == [
        (job.pk, 25, "1 of 4 (25 %)", False)
    ]


def test_page_of_a_finished_job_is_not_updated_live(client, brand):
    html = text(client.get(address("jobs.job", "change", with_file(create_job(brand)).pk)))

    assert "data-job=" not in html
    assert "work.csv" in html


def test_job_is_cancelled_from_a_page_that_explains_the_consequences(client, brand):
    job = create_job(brand)
    url = address("jobs.job", "cancel", job.pk)

    html = text(client.get(url))
    job.refresh_from_db()
    assert job.status == "queued"
    assert "Codes generated so far stay valid" in html
    client.post(url)
    job.refresh_from_db()
    assert job.status == "cancelled"


def test_finished_job_cannot_be_cancelled(client, brand):
    job = with_file(create_job(brand))

    for method in (client.get, client.post):
        assert messages_of(method(address("jobs.job", "cancel", job.pk)))[-1:] == ["The job has already finished."]


def test_every_kind_of_job_explains_its_cancellation():
    assert len(kinds.declared()) == len(settings.JOB_KINDS)
    assert all(kind.on_cancel for kind in kinds.declared().values())


def create_import(by):
    brand = by.staff_roles.get().brand
    return Import.objects.create(brand=brand, kind="list", file="a.csv", file_name="a.csv", uploaded_by=by)


# The roles that may cancel another user's job, by its kind.
CANCELLING_ROLES = {
    "notify-recall": {"owner", "manager"},
    "commit-import": {"owner", "manager"},
    "generate": {"owner", "manager"},
    "print-batch": {"owner", "manager"},
}


@pytest.mark.parametrize("kind", CANCELLING_ROLES)
def test_owners_and_managers_cancel_jobs_of_other_users(brand, kind):
    starter = staff(brand)
    parameters = {"import_id": create_import(starter).pk}
    cancelled = set()

    for role in ("owner", "manager", "printer", "support"):
        job, client = (
            create_job(brand, kind, created_by=starter, parameters=parameters),
            browser(staff(brand, role=role)),
        )
        url = address("jobs.job", "cancel", job.pk)
        offered = url in text(client.get(address("jobs.job", "change", job.pk)))
        allowed = client.post(url).status_code == 302
        job.refresh_from_db()
        assert offered is allowed is (job.status == "cancelled")
        cancelled |= {role} if allowed else set()

    assert cancelled == CANCELLING_ROLES[kind]


@pytest.mark.parametrize(("kind", "status"), [("generate", 302), ("commit-import", 302), ("notify-recall", 403)])
def test_printer_cancels_own_jobs_except_recall_notifications(brand, kind, status):
    printer = staff(brand, role="printer")
    job = create_job(brand, kind, created_by=printer, parameters={"import_id": create_import(printer).pk})

    assert browser(printer).post(address("jobs.job", "cancel", job.pk)).status_code == status


def test_job_page_query_count_does_not_depend_on_the_log(client, brand):
    short, long = create_job(brand), create_job(brand, log="A line.\n" * 1000)

    def count_queries(job):
        with CaptureQueriesContext(connection) as queries:
            client.get(address("jobs.job", "change", job.pk))
        return len(queries)

    assert count_queries(short) == count_queries(long) <= 15


@pytest.mark.django_db(transaction=True)
def test_export_from_the_list_to_the_downloaded_file():
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
