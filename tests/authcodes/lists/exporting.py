"""Helpers that run exports and read their files."""

import csv
import io
from datetime import UTC, datetime

from authcodes.recalls import recalls
from jobs import queue, runner
from tests.support import factories

NOON = datetime(2026, 3, 1, 11, 0, tzinfo=UTC)


def export(brand, by, kind="export-scans", query="", file_format="csv", **options):
    parameters = {"query": query, "format": file_format, "time_zone": "UTC", **options}
    job = queue.start(brand=brand, kind=kind, title="Export", parameters=parameters, by=by)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def content(job):
    with job.result.open("rb") as file:
        return file.read()


def rows(job):
    return list(csv.reader(io.StringIO(content(job).decode(), newline="")))


def berlin_brand():
    return factories.brand(time_zone="Europe/Berlin", slug="acme")


def recall(batch):
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    return recalls.recall_batch(batch=batch, at=NOON, **recall_fields)
