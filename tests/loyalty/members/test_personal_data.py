"""What is held about a person, handed out whole."""

import json
import tracemalloc

from authcodes.personal_data import SCANS
from core import personal_data


def test_much_is_written_in_bounded_memory(brand, customer, tmp_path):
    """54 MB of it took 1.3 GB with four calls."""
    rows = ({"auth_code": f"X-{number:08}", "location": "y" * 200} for number in range(100_000))
    tracemalloc.start()
    with (tmp_path / "export.json").open("wb") as file:
        for part in personal_data.as_json({"scans": rows, "none": iter(()), "account": None}):
            file.write(part.encode())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 2_000_000
    found = json.loads((tmp_path / "export.json").read_text())
    assert (len(found["scans"]), found["none"], found["account"]) == (100_000, [], None)


def test_scans_are_read_a_few_at_a_time(brand, customer):
    held = SCANS.export(customer.pk, brand.pk)

    assert not isinstance(held, list)
    assert list(held) == []
