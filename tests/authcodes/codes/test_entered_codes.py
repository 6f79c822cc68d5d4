"""Assigning codes entered as text in the portal: checked line by line, assigned all or none."""

import pytest

from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from tests.authcodes.codes.change_pages import errors, messages, send_codes
from tests.support import factories
from tests.support.portal import address, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring")


@pytest.fixture
def product(brand):
    return factories.product(brand)


def test_entered_codes_are_checked_line_by_line(client, brand, batch, product):
    factories.batch(brand, prefix="", number_width=8, quantity=9, assigned=False)

    answer = send_codes(client, product, "AB-0001\n\n5\nNO-1", "preview")

    assert [(line.line, line.code, line.error) for line in answer.context["lines"]] == [
        (1, "AB-0001", ""),
        (3, "00000005", ""),
        (4, "NO-1", "Code not found"),
    ]
    assert "Read as 00000005" in text(answer)
    assert 'name="confirm"' not in text(answer)


def test_no_code_is_assigned_if_one_line_has_an_error(client, batch, product):
    answer = send_codes(client, product, "AB-0001\nNO-1", "confirm")

    assert answer.context["problem"].startswith("Some lines have errors")
    assert not AuthCode.objects.filter(product__isnull=False).exists()


def test_entered_codes_are_assigned(client, owner, batch, product):
    fields = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "returned"}
    answer = send_codes(client, product, "AB-0003\nAB-0001\nAB-0002", "confirm", **fields)

    assert "Assigned: 3" in messages(client, answer)
    codes = AuthCode.objects.filter(product=product)
    assert {(code.inventory_location, code.points_per_scan, code.notes) for code in codes} == {tuple(fields.values())}
    line = CodeChange.objects.get(kind="assigned")
    assert (line.first_code, line.last_code, line.codes, line.changed_by) == ("AB-0001", "AB-0003", 3, owner)


def test_assigning_one_entered_code_redirects_to_its_page(client, batch, product):
    code = batch.codes.get(code="AB-0001")
    url = address("authcodes.authcode", "change", code.pk)

    form = client.get(address("authcodes.authcode", "assign"), {"codes": code.code}).context["form"]

    assert form["codes"].value() == code.code
    assert send_codes(client, product, code.code, "confirm")["Location"] == url


def test_code_of_another_brand_is_not_found(client, product):
    zebra = factories.code(factories.brand(), assigned=False)

    [line] = send_codes(client, product, zebra.code, "preview").context["lines"]

    assert line.error == "Code not found"


@pytest.mark.parametrize(("codes", "field"), [("", "codes"), ("x\n" * 1001, "codes")])
def test_no_codes_or_too_many_codes_are_rejected(client, product, codes, field):
    assert list(errors(send_codes(client, product, codes, "preview"))) == [field]
