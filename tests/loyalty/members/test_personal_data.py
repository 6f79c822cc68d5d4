"""The complete export of a customer's personal data."""

import json
import tracemalloc

from authcodes.personal_data import SCANS
from core import personal_data


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


def test_scans_are_exported_lazily(brand, customer):
    scans = SCANS.export(customer.pk, brand.pk)

    assert not isinstance(scans, list)
    assert list(scans) == []
