"""Exports of affected customers, and exports that are cancelled, crash or take long: whole or not at all."""

from datetime import timedelta

import pytest
from django.db import connection

from authcodes.recalls import affected
from core.spreadsheets.report import Format
from jobs import file_exports, queue, runner
from jobs.models import Job
from tests.authcodes.lists.exporting import NOON, berlin, export, recall, rows
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("files")]


def test_affected_customers_are_listed_once_per_code():
    brand = berlin()
    ann, bob = factories.customer(brand, email="ann@example.com"), factories.customer(brand, email="bob@example.com")
    batch = factories.batch(brand, quantity=2)
    one, two = batch.codes.order_by("pk")
    scan(one, user=ann, scanned_at=NOON, location="Bonn")
    scan(one, user=ann, scanned_at=NOON + timedelta(days=1), location="Köln", outcome="warning", reason="recalled")
    scan(two, user=ann, scanned_at=NOON)
    scan(two, user=bob, scanned_at=NOON)
    scan(two, scanned_at=NOON)
    scan(factories.code(brand), user=bob)
    scan(one, user=factories.customer(factories.brand()), outcome="error", reason="other_brand")
    job = affected.start_affected(recall=recall(batch), file_format=Format.CSV, by=staff(brand))
    runner.run(job.pk)

    job.refresh_from_db()
    moment = "2026-03-01T12:00:00+01:00"
    assert rows(job) == [
        ["customer_email", "auth_code", "product", "scan_date", "location"],
        ["ann@example.com", one.code, batch.product.title, moment, "Bonn"],
        ["ann@example.com", two.code, batch.product.title, moment, ""],
        ["bob@example.com", two.code, batch.product.title, moment, ""],
    ]


@pytest.mark.parametrize("file_format", list(Format))
def test_cancelled_half_way_leaves_no_file_on_offer(file_format, monkeypatch, files):
    monkeypatch.setattr(file_exports, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(file_exports, "ASK_EVERY", 2)
    brand = berlin()
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


def test_a_crash_half_way_leaves_no_file_on_offer(monkeypatch, files):
    brand = berlin()
    scan(factories.code(brand))

    def crash(*_):
        raise MemoryError

    monkeypatch.setattr(file_exports, "write_csv", crash)

    job = export(brand, staff(brand))

    assert (job.status, job.result.name) == ("failed", "")
    assert not [path for path in files.rglob("*") if path.is_file()]


def test_long_exports_outlast_the_statement_timeout():
    brand = berlin()

    with file_exports.separate_connection(brand) as own:
        assert own.execute("SHOW statement_timeout").fetchone() == ("0",)
        assert own.execute("SHOW TimeZone").fetchone() == ("Europe/Berlin",)


def test_job_of_a_recall_that_is_gone_fails_with_words():
    brand = berlin()
    job = Job.objects.create(brand=brand, kind="export-affected", title="x", parameters={"recall": 0, "format": "csv"})

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, "has been withdrawn" in job.log) == ("failed", True)


def connection_count():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return cursor.fetchone()[0]
