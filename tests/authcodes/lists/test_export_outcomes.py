"""Exports of affected customers, and exports that are cancelled, crash or take long, which leave no partial file."""

from datetime import timedelta

import pytest
from django.db import connection

from authcodes.recalls import affected
from core.spreadsheets.report import Format
from jobs import file_exports, queue, runner
from jobs.models import Job
from tests.authcodes.lists.exporting import NOON, berlin_brand, export, recall, rows
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("files")]


def test_affected_customers_are_listed_once_per_code():
    brand = berlin_brand()
    first_customer, second_customer = (
        factories.customer(brand, email="ann@example.com"),
        factories.customer(brand, email="bob@example.com"),
    )
    batch = factories.batch(brand, quantity=2)
    first_code, second_code = batch.codes.order_by("pk")
    scan(first_code, user=first_customer, scanned_at=NOON, location="Bonn")
    scan(
        first_code,
        user=first_customer,
        scanned_at=NOON + timedelta(days=1),
        location="Köln",
        outcome="warning",
        reason="recalled",
    )
    scan(second_code, user=first_customer, scanned_at=NOON)
    scan(second_code, user=second_customer, scanned_at=NOON)
    scan(second_code, scanned_at=NOON)
    scan(factories.code(brand), user=second_customer)
    scan(first_code, user=factories.customer(factories.brand()), outcome="error", reason="other_brand")
    job = affected.start_affected(recall=recall(batch), file_format=Format.CSV, by=staff(brand))
    runner.run(job.pk)

    job.refresh_from_db()
    scan_date = "2026-03-01T12:00:00+01:00"
    assert rows(job) == [
        ["customer_email", "auth_code", "product", "scan_date", "location"],
        ["ann@example.com", first_code.code, batch.product.title, scan_date, "Bonn"],
        ["ann@example.com", second_code.code, batch.product.title, scan_date, ""],
        ["bob@example.com", second_code.code, batch.product.title, scan_date, ""],
    ]


@pytest.mark.parametrize("file_format", list(Format))
def test_cancelled_export_leaves_no_file(file_format, monkeypatch, files):
    monkeypatch.setattr(file_exports, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(file_exports, "ASK_EVERY", 2)
    brand = berlin_brand()
    for _ in range(6):
        scan(factories.code(brand))
    original_progress = runner.Run.progress

    def cancel_half_way(run, done, total):
        if done == 4:
            queue.cancel(job=run.job)
        original_progress(run, done, total)

    monkeypatch.setattr(runner.Run, "progress", cancel_half_way)

    job = export(brand, staff(brand), file_format=file_format)

    assert (job.status, job.result.name, job.done) == ("cancelled", "", 4)
    assert not [path for path in files.rglob("*") if path.is_file()]
    assert connection_count() == 1


def test_crashed_export_leaves_no_file(monkeypatch, files):
    brand = berlin_brand()
    scan(factories.code(brand))

    def crash(*_):
        raise MemoryError

    monkeypatch.setattr(file_exports, "write_csv", crash)

    job = export(brand, staff(brand))

    assert (job.status, job.result.name) == ("failed", "")
    assert not [path for path in files.rglob("*") if path.is_file()]


def test_exports_run_without_a_statement_timeout():
    brand = berlin_brand()

    with file_exports.separate_connection(brand) as separate_connection:
        assert separate_connection.execute("SHOW statement_timeout").fetchone() == ("0",)
        assert separate_connection.execute("SHOW TimeZone").fetchone() == ("Europe/Berlin",)


def test_job_of_a_withdrawn_recall_fails_with_a_message():
    brand = berlin_brand()
    job = Job.objects.create(brand=brand, kind="export-affected", title="x", parameters={"recall": 0, "format": "csv"})

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, "has been withdrawn" in job.log) == ("failed", True)


def connection_count():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return cursor.fetchone()[0]
