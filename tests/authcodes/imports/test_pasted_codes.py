"""Codes as people type them: what each line means, and why some mean nothing."""

import pytest

from authcodes.errors import BatchRejected
from authcodes.imports import checks, pasted_codes
from authcodes.models.imports import Import, ImportRow
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def product(brand):
    return factories.product(brand)


def results(product, *lines):
    return [(it.line, it.code, it.error) for it in pasted_codes.parse_pasted(text="\n".join(lines), product=product)]


def test_lines_are_codes_scanned_addresses_or_printed_tags(brand, product):
    factories.batch(brand, prefix="AB-", quantity=3, assigned=False)

    found = results(product, "AB-0001", "", "  https://x.example.com/s/AB-0002  ", "AB-0003.0123456789A")

    assert found == [(1, "AB-0001", ""), (3, "AB-0002", ""), (4, "AB-0003", "")]


def test_leading_zeros_that_a_spreadsheet_ate_come_back(brand, product):
    factories.batch(brand, prefix="", number_width=10, quantity=9, assigned=False)

    [line] = pasted_codes.parse_pasted(text="7", product=product)

    assert (line.text, line.code, line.error, line.is_repaired) == ("7", "0000000007", "", True)


def test_zeros_that_could_belong_to_two_codes_are_reported(brand, product):
    factories.batch(brand, prefix="", number_width=10, quantity=9, assigned=False)
    factories.batch(brand, prefix="", number_width=8, quantity=9, assigned=False)

    [line] = pasted_codes.parse_pasted(text="7", product=product)

    assert "more than one code fits" in line.error


def test_what_names_no_code_or_a_taken_one_says_so(brand, product):
    factories.batch(brand, prefix="AB-", quantity=2, assigned=False)
    factories.batch(brand, prefix="CD-")
    factories.batch(factories.brand(), prefix="EF-")

    found = results(product, "AB-0001", "AB-0001", "CD-0001", "EF-0001", "NO-1", "1.23E+11", "x" * 70)

    assert [error for _line, _code, error in found] == [
        "",
        "This code is already on line 1.",
        "Auth code range already assigned",
        "Code not found",
        "Code not found",
        checks.SHORTENED,
        "Code not found",
    ]


def test_codes_that_have_this_product_already_are_good(brand):
    batch = factories.batch(brand, prefix="AB-")

    assert results(batch.product, "AB-0001") == [(1, "AB-0001", "")]


@pytest.mark.parametrize("text", ["", " \n\n\t", "\n".join(["AB-1"] * 1001)])
def test_no_line_and_too_many_lines_are_refused(product, text):
    with pytest.raises(BatchRejected) as refused:
        pasted_codes.parse_pasted(text=text, product=product)

    assert refused.value.details == {"field": "codes"}


def test_looking_stores_nothing(brand, product):
    factories.batch(brand, prefix="AB-")

    pasted_codes.parse_pasted(text="AB-0001\nAB-0002", product=product)

    assert not Import.objects.exists()
    assert not ImportRow.objects.exists()
