"""The complete export of a customer's personal data."""

import json
import tracemalloc

from django.db import connection

from authcodes.personal_data import SCANS
from core import personal_data
from tests.support import factories
from tests.support.portal import scan


def test_large_export_is_written_in_bounded_memory(brand, customer, tmp_path):
    """Exporting 54 MB in four calls once took 1.3 GB of memory."""
    rows = ({"auth_code": f"X-{number:08}", "location": "y" * 200} for number in range(100_000))
    tracemalloc.start()
    with (tmp_path / "export.json").open("wb") as file:
        for part in personal_data.as_json({"scans": rows, "none": iter(()), "account": None}):
            file.write(part.encode())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 2_000_000
    exported = json.loads((tmp_path / "export.json").read_text())
    assert (len(exported["scans"]), exported["none"], exported["account"]) == (100_000, [], None)


def test_scans_are_read_from_the_database_row_by_row(brand, customer, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(personal_data, "ROWS_AT_A_TIME", 1)
    for number in range(3):
        scan(factories.code(brand), user=customer, location=f"Place {number}")

    with django_assert_num_queries(0):
        scans = SCANS.export(customer.pk, brand.pk)

    next(scans)
    assert count_open_cursors() == 1
    assert len(list(scans)) == 2
    assert count_open_cursors() == 0


def count_open_cursors():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE name <> ''")
        return cursor.fetchone()[0]
