"""Codes that staff paste: what each line means, and the errors of lines that name no usable code."""

import pytest

from authcodes.errors import BatchRejected
from authcodes.imports import checks, pasted_codes
from authcodes.models.imports import Import, ImportRow
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def product(brand):
    return factories.product(brand)


def parsed_rows(product, *lines):
    return [
        (row.line, row.code, row.error) for row in pasted_codes.parse_pasted(text="\n".join(lines), product=product)
    ]


def test_codes_are_read_from_plain_scanned_and_signed_lines(brand, product):
    factories.batch(brand, prefix="AB-", quantity=3, assigned=False)

    rows = parsed_rows(product, "AB-0001", "", "  https://x.example.com/s/AB-0002  ", "AB-0003.0123456789A")

    assert rows == [(1, "AB-0001", ""), (3, "AB-0002", ""), (4, "AB-0003", "")]


def test_leading_zeros_lost_in_a_spreadsheet_are_restored(brand, product):
    factories.batch(brand, prefix="", number_width=10, quantity=9, assigned=False)

    [line] = pasted_codes.parse_pasted(text="7", product=product)

    assert (line.text, line.code, line.error, line.is_repaired) == ("7", "0000000007", "", True)


def test_lost_zeros_are_reported_if_two_codes_fit(brand, product):
    factories.batch(brand, prefix="", number_width=10, quantity=9, assigned=False)
    factories.batch(brand, prefix="", number_width=8, quantity=9, assigned=False)

    [line] = pasted_codes.parse_pasted(text="7", product=product)

    assert "more than one code fits" in line.error


def test_unknown_repeated_and_assigned_codes_are_reported(brand, product):
    factories.batch(brand, prefix="AB-", quantity=2, assigned=False)
    factories.batch(brand, prefix="CD-")
    factories.batch(factories.brand(), prefix="EF-")

    rows = parsed_rows(product, "AB-0001", "AB-0001", "CD-0001", "EF-0001", "NO-1", "1.23E+11", "x" * 70)

    assert [error for _line, _code, error in rows] == [
        "",
        "This code is already on line 1.",
        "Auth code range already assigned",
        "Code not found",
        "Code not found",
        checks.SHORTENED,
        "Code not found",
    ]


def test_codes_already_assigned_to_this_product_are_accepted(brand):
    batch = factories.batch(brand, prefix="AB-")

    assert parsed_rows(batch.product, "AB-0001") == [(1, "AB-0001", "")]


@pytest.mark.parametrize("text", ["", " \n\n\t", "\n".join(["AB-1"] * 1001)])
def test_empty_input_and_too_many_lines_are_rejected(product, text):
    with pytest.raises(BatchRejected) as rejected:
        pasted_codes.parse_pasted(text=text, product=product)

    assert rejected.value.details == {"field": "codes"}


def test_parsing_stores_nothing(brand, product):
    factories.batch(brand, prefix="AB-")

    pasted_codes.parse_pasted(text="AB-0001\nAB-0002", product=product)

    assert not Import.objects.exists()
    assert not ImportRow.objects.exists()
