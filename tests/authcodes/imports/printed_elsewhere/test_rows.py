"""Codes printed elsewhere: invalid rows are reported, and unreadable files write nothing."""

import pytest
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.errors import ImportRejected
from authcodes.imports import checks, commit
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import ImportRow
from tests.authcodes.imports import conftest as imports
from tests.authcodes.imports.printed_elsewhere.conftest import HEADER, OLD_URL, checked_import, row_errors, run_commit
from tests.support import factories

pytestmark = pytest.mark.usefixtures("media")


ROWS = {
    "no code": (",x,,", ("auth_code", "The code is missing.")),
    "dot": ("A.B,,,", ("auth_code", "A code has at most 64")),
    "slash": ("A/B,,,", ("auth_code", "A code has at most 64")),
    "formula": ("=cmd|' /C calc'!A0,,,", ("auth_code", "A code has at most 64")),
    "Unicode digits": ("\u0661\u0662\u0663,,,", ("auth_code", "A code has at most 64")),
    "long code": ("A" * 65 + ",,,", ("auth_code", "A code has at most 64")),
    "long payload": (f"A1,{'x' * 501},,", ("payload", "A payload has at most 500")),
    "invisible payload": ("A1,a\u202eb,,", ("payload", "A payload has at most 500")),
    "broken address": ("A1,https://[x/s/1,,", ("payload", "This address cannot be read.")),
    "port": ("A1,https://x.example:99999/s/1,,", ("payload", "This address cannot be read.")),
    "long host": (f"A1,https://{'x.' * 128}example/s/1,,", ("payload", "This address cannot be read.")),
    "protected": ("A1,B1.tag,,", ("payload", "A payload cannot look like a protected code")),
    "short row": ("A1,x", ("", "Invalid CSV format: this row has 2 cells")),
    "long place": (f"A1,,{'x' * 121},", ("inventory_location", "A location has at most 120")),
}


@pytest.mark.parametrize("name", ROWS)
def test_invalid_row_is_reported_and_can_be_skipped(brand, name):
    line, (column, message) = ROWS[name]

    upload = checked_import(brand, "GOOD1,,,", line)

    line_errors = row_errors(upload)
    assert list(line_errors) == [3]
    assert line_errors[3][0] == column
    assert line_errors[3][1].startswith(message)
    with pytest.raises(ImportRejected):
        commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by)
    run_commit(upload, skip_bad=True)
    assert list(AuthCode.objects.values_list("code", flat=True)) == ["GOOD1"]


def test_repeated_codes_and_payloads_name_the_earlier_line(brand):
    upload = checked_import(brand, "A1,p1,,", "A1,p2,,", "A2,p1,,", "A3,A2,,", "A4,https://old.example/s/A1,,")

    repeated_payload = "This payload is already on line {}, or contains the code of that line."
    assert row_errors(upload) == {
        3: ("auth_code", "This code is already on line 2."),
        4: ("payload", repeated_payload.format(2)),
        5: ("payload", repeated_payload.format(4)),
        6: ("payload", repeated_payload.format(2)),
    }


UNREADABLE = {
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "NUL": f"{HEADER}\nA1,\0,,\n".encode(),
    "no payload": b"auth_code\nA",
    "no rows": f"{HEADER}\n".encode(),
    "20 KB payload": f"{HEADER}\nA1,{'x' * 20_000},,\n".encode(),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_writes_nothing(brand, name):
    assert checked_import(brand, content=UNREADABLE[name]).status == "refused"
    assert (ImportRow.objects.count(), BatchRange.objects.count()) == (0, 0)


def test_the_brands_own_codes_payloads_and_pending_codes_are_reported(brand):
    factories.batch(brand, quantity=2, prefix="A", number_width=4)
    pending = BatchSettings("Pending", 5, prefix="B", number_width=4, signed=False)
    batches.create_batch(brand=brand, batch_settings=pending, at=timezone.now())
    run_commit(checked_import(brand, f"K7F3,{OLD_URL},,"))

    upload = checked_import(
        brand,
        "A0001,,,",
        "B0003,,,",
        f"N1,{OLD_URL},,",
        "N2,A0002,,",
        "N3,https://x.example/s/A0002,,",
        "N4,B0002,,",
        name="More",
    )

    assert row_errors(upload) == dict.fromkeys(
        range(2, 8), ("auth_code", "The brand already has this code or payload.")
    )


def list_of_codes(product, *lines):
    """A checked list of codes for this product."""
    return imports.checked_import(product.brand, product, imports.csv_of(imports.LIST, *lines))


def test_lost_zeros_of_a_printed_code_are_restored_whatever_its_length(brand, product):
    run_commit(checked_import(brand, "0-first,,,", "00012345678,,,", "007,,,", product=product))

    upload = list_of_codes(product, "7,,", "12345678,,")

    assert (row_errors(upload), upload.repaired_rows) == ({}, 2)


@pytest.mark.parametrize("printed", ["007", "7"])
def test_lost_zeros_are_reported_if_a_printed_code_fits_too(brand, product, printed):
    factories.batch(brand, assigned=False, quantity=20, prefix="", number_width=6)
    run_commit(checked_import(brand, "00012345678,,,", f"{printed},,,"))

    upload = list_of_codes(product, "7,,")

    assert row_errors(upload) == {2: ("auth_code", checks.AMBIGUOUS)}
