"""Exports of every list: the displayed rows of one brand, for roles that may view the list and run jobs."""

import csv
import io
import itertools
import zipfile
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from pypdf import PdfReader

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.printing import report_pdf
from authcodes.reports.lists import REPORTS
from brands.identity.roles import ACT, VIEW, may
from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from core.spreadsheets.report import Column
from jobs import file_exports, kinds, queue, runner
from jobs.models import Job
from loyalty.models.programme.referrals import Referral
from portal.import_export.exportable import ExportingAdmin
from tests.support import factories
from tests.support.portal import address, brand_with_one_of_each, browser, page, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
MARKER = "zebra"
LISTS = sorted({model._meta.label_lower for model, _ in REPORTS.values()})


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    settings.FAIR_SHARES = False  # each job runs immediately, even if other jobs of the brand are queued


def run(job: Job) -> Job:
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def run_export(client: Client, brand: Brand, label: str, query: str = "", file_format: str = "csv") -> Job:
    """Starts an export on the page of a list and runs its job."""
    client.post(f"{address(label, 'export')}{query}", {"brand": brand.pk, "format": file_format})
    return run(Job.objects.latest("pk"))


def content(job: Job) -> str:
    """The text of a CSV, or of the first sheet of a workbook."""
    with job.result.open("rb") as file:
        if job.result_name.endswith(".csv"):
            return file.read().decode()
        return zipfile.ZipFile(file).read("xl/worksheets/sheet1.xml").decode()


def rows(job: Job) -> list[list[str]]:
    assert job.status == "done", job.log
    return list(csv.reader(io.StringIO(content(job), newline="")))


def pdf(job: Job) -> PdfReader:
    assert job.status == "done", job.log
    with job.result.open("rb") as file:
        return PdfReader(io.BytesIO(file.read()))


def test_pdf_has_titles_rows_and_pages_in_landscape(brand: Brand) -> None:
    owner = staff(brand)
    factories.product(brand, sku="TEA-1", title="شاي بالنعناع", retail_price=12)
    factories.product(brand, title="<img src='file:///etc/passwd'>")
    for number in range(59):
        factories.product(brand, title=f"Zebra tea {number}")

    job = run_export(browser(owner), brand, "authcodes.product", file_format="pdf")

    pages = pdf(job).pages
    page_texts = ["".join(page.extract_text().split()) for page in pages]  # without the line breaks of the page
    assert (job.done, job.result_name.endswith(".pdf")) == (61, True)
    assert all("Pointsperscan" in text for text in page_texts)  # column titles are repeated on each page
    for expected_text in (brand.name, "61 rows", "TEA-1", "Zebra tea 58", "<img src="):
        assert any("".join(expected_text.split()) in text for text in page_texts), expected_text
    assert len(pages) > 1
    assert pages[0].mediabox.width > pages[0].mediabox.height


def test_pdf_without_rows_says_so(brand: Brand) -> None:
    job = run_export(browser(staff(brand)), brand, "authcodes.product", file_format="pdf")

    assert "0 rows" in pdf(job).pages[0].extract_text()


def test_pdf_of_too_many_rows_fails_with_alternatives(brand: Brand, monkeypatch: Any) -> None:
    monkeypatch.setattr(file_exports, "MAX_PDF_ROWS", 2)
    for _ in range(3):
        factories.product(brand)

    job = run_export(browser(staff(brand)), brand, "authcodes.product", file_format="pdf")

    assert (job.status, bool(job.result)) == ("failed", False)
    assert "This list has 3 rows, and a PDF holds at most 2. Choose CSV or Excel, or filter the list." in job.log


def test_pdf_cells_have_times_without_seconds_and_the_direction_of_their_text() -> None:
    assert report_pdf.cell(Column.MOMENT, "2026-03-14T09:26:53+01:00")["text"] == "2026-03-14 09:26"
    assert [report_pdf.cell(Column.TEXT, text)["is_rtl"] for text in ("شاي", "Tea", None)] == [True, False, False]
    assert report_pdf.cell(Column.NUMBER, "5")["is_number"] is True


def test_every_list_with_an_export_has_a_report() -> None:
    with_exports = {page.opts.label_lower for page in admin.site._registry.values() if isinstance(page, ExportingAdmin)}

    assert with_exports == set(LISTS)
    assert all(kinds.declared()[kind].visible_with for kind in REPORTS)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_each_list_is_exported_with_only_the_rows_of_the_brand(file_format: str) -> None:
    (own, _), (foreign, _) = brand_with_one_of_each("aardvark"), brand_with_one_of_each(MARKER)
    client = browser(staff(own, foreign))
    for label in LISTS:
        row_count = page(label).model._base_manager.filter(**{page(label).brand_path: own}).count()

        job = run_export(client, own, label, file_format=file_format)

        assert (job.status, job.done) == ("done", row_count), (label, job.log)
        assert row_count, label
        assert MARKER not in content(job).lower(), label
        if file_format == "csv":
            header, *lines = rows(job)
            assert header == list(REPORTS[job.kind][1].columns)
            assert any("aardvark" in cell for cell in itertools.chain(*lines)), label


@pytest.mark.parametrize("role", ["owner", "manager", "printer", "support"])
def test_export_needs_permission_to_view_the_list_and_to_run_jobs(brand: Brand, role: str) -> None:
    client = browser(staff(brand, role=role))
    for label in LISTS:
        allowed = may(role, VIEW, label) and may(role, ACT, "jobs.job")

        assert client.get(address(label, "export")).status_code == (200 if allowed else 403), label
        if may(role, VIEW, label):
            assert (address(label, "export") in text(client.get(address(label)))) is allowed, label


@pytest.mark.parametrize("label", LISTS)
def test_export_job_of_a_user_without_the_permission_fails(label: str, brand: Brand) -> None:
    kind = next(kind for kind, (model, _) in REPORTS.items() if model._meta.label_lower == label)
    parameters = {"query": "", "format": "csv", "time_zone": "UTC"}
    job = queue.start(brand=brand, kind=kind, title="Export", parameters=parameters, by=staff(brand, role="support"))

    assert run(job).status == "failed"
    assert "no longer export" in job.log


def test_export_jobs_are_listed_only_for_roles_that_may_view_the_list(brand: Brand) -> None:
    for kind in REPORTS:
        Job.objects.create(brand=brand, kind=kind, title=f"{kind} job")

    html = text(browser(staff(brand, role="printer")).get(address("jobs.job")))

    visible = {kind for kind, (model, _) in REPORTS.items() if may("printer", VIEW, model._meta.label_lower)}
    assert {kind for kind in REPORTS if f"{kind} job" in html} == visible
    assert "export-members" not in visible


def codes_of(client: Client, brand: Brand, query: str) -> set[str]:
    return {row[0] for row in rows(run_export(client, brand, "authcodes.authcode", query))[1:]}


def test_export_of_codes_applies_the_status_filter(brand: Brand) -> None:
    unscanned, scanned = factories.code(brand), factories.code(brand)
    AuthCode.objects.filter(pk=scanned.pk).update(scan_count=1)
    client = browser(staff(brand))

    assert codes_of(client, brand, "?status=scanned") == {scanned.code}
    assert codes_of(client, brand, "") == {unscanned.code, scanned.code}
    assert codes_of(client, brand, "?status=unscanned") == codes_of(client, brand, "?scan_count=0") == {unscanned.code}


def test_list_of_codes_links_to_an_export_of_unscanned_codes(brand: Brand) -> None:
    factories.code(brand)
    client = browser(staff(brand))
    html = text(client.get(address("authcodes.authcode"), {"q": "T"}))
    export_url = address("authcodes.authcode", "export")

    assert f'href="{export_url}?q=T"' in html
    assert f'href="{export_url}?q=T&amp;status=unscanned"' in html
    assert "Export unscanned codes" not in text(client.get(address("authcodes.authcode"), {"status": "scanned"}))
    header, *_ = rows(run_export(client, brand, "authcodes.authcode", "?status=unscanned"))
    assert header == ["auth_code", "product", "created_date", "expiration_date", "status"]
    header, *_ = rows(run_export(client, brand, "authcodes.authcode"))
    assert header[:7] == ["auth_code", "product", "created_date", "expiration_date", "status", "batch", "scan_count"]


def test_earlier_kind_of_job_still_exports_only_unscanned_codes(brand: Brand) -> None:
    unscanned, scanned = factories.code(brand), factories.code(brand)
    AuthCode.objects.filter(pk=scanned.pk).update(scan_count=1)
    parameters = {"query": "", "format": "csv", "time_zone": "UTC"}
    user = staff(brand)
    job = queue.start(brand=brand, kind="export-unscanned", title="x", parameters=parameters, by=user)

    assert [row[0] for row in rows(run(job))[1:]] == [unscanned.code]


def test_exported_points_have_signs_and_names_are_not_formulas(brand: Brand) -> None:
    customer = factories.customer(brand, email="ann@example.com", first_name="=1+1", last_name="@x")
    account = factories.account(customer, brand)
    account.transactions.create(points_redeemed=3, reason="redeemed", reason_id="order:1", note="+1")
    client = browser(staff(brand))

    (_, member) = rows(run_export(client, brand, "loyalty.userpoints"))
    (_, entry) = rows(run_export(client, brand, "loyalty.loyaltytransaction"))

    assert member[:3] == ["ann@example.com", "'=1+1", "'@x"]
    assert entry[1:] == ["ann@example.com", "redeemed", "-3", "order:1", "'+1"]


def test_export_applies_the_filters_of_the_list(brand: Brand) -> None:
    blocked = factories.account(factories.customer(brand, email="bob@example.com"), brand)
    factories.account(factories.customer(brand), brand)
    type(blocked).objects.filter(pk=blocked.pk).update(status="blocked")

    exported_rows = rows(run_export(browser(staff(brand)), brand, "loyalty.userpoints", "?status__exact=blocked"))

    assert [row[0] for row in exported_rows[1:]] == ["bob@example.com"]


def test_every_report_with_customers_is_declared_for_erasure() -> None:
    lists_with_customers = {Scan._meta.label_lower, AuditLogEntry._meta.label_lower, Referral._meta.label_lower}
    for kind, (model, report) in REPORTS.items():
        names_customers = "customer_email" in report.columns or model._meta.label_lower in lists_with_customers
        assert kinds.declared()[kind].names_customers is names_customers, kind


def test_export_of_redemptions_has_no_redemption_codes() -> None:
    own, rows_by_label = brand_with_one_of_each("aardvark")
    redemption: Any = rows_by_label["loyalty.redemption"]

    job = run_export(browser(staff(own)), own, "loyalty.redemption")

    assert "aardvark gift" in content(job)
    assert redemption.code not in content(job)
