"""Changing typed codes in the portal: looked at line by line, assigned all or none."""

import pytest

from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from tests.authcodes.codes.change_pages import errors, messages, type_in
from tests.support import factories
from tests.support.portal import address, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring")


@pytest.fixture
def product(brand):
    return factories.product(brand)


def test_typed_codes_are_looked_at_line_by_line(client, brand, batch, product):
    factories.batch(brand, prefix="", number_width=8, quantity=9, assigned=False)

    answer = type_in(client, product, "AB-0001\n\n5\nNO-1", "preview")

    assert [(line.line, line.code, line.error) for line in answer.context["lines"]] == [
        (1, "AB-0001", ""),
        (3, "00000005", ""),
        (4, "NO-1", "Code not found"),
    ]
    assert "Read as 00000005" in text(answer)
    assert 'name="confirm"' not in text(answer)


def test_one_wrong_line_keeps_all_from_being_assigned(client, batch, product):
    answer = type_in(client, product, "AB-0001\nNO-1", "confirm")

    assert answer.context["problem"].startswith("Some lines have errors")
    assert not AuthCode.objects.filter(product__isnull=False).exists()


def test_typed_codes_are_assigned(client, owner, batch, product):
    given = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "returned"}
    answer = type_in(client, product, "AB-0003\nAB-0001\nAB-0002", "confirm", **given)

    assert "Assigned: 3" in messages(client, answer)
    codes = AuthCode.objects.filter(product=product)
    assert {(it.inventory_location, it.points_per_scan, it.notes) for it in codes} == {tuple(given.values())}
    line = CodeChange.objects.get(kind="assigned")
    assert (line.first_code, line.last_code, line.codes, line.changed_by) == ("AB-0001", "AB-0003", 3, owner)


def test_one_typed_code_leads_to_its_page(client, batch, product):
    code = batch.codes.get(code="AB-0001")
    its = address("authcodes.authcode", "change", code.pk)

    form = client.get(address("authcodes.authcode", "assign"), {"codes": code.code}).context["form"]

    assert form["codes"].value() == code.code
    assert type_in(client, product, code.code, "confirm")["Location"] == its


def test_another_brands_code_is_unknown(client, product):
    zebra = factories.code(factories.brand(), assigned=False)

    [line] = type_in(client, product, zebra.code, "preview").context["lines"]

    assert line.error == "Code not found"


@pytest.mark.parametrize(("codes", "field"), [("", "codes"), ("x\n" * 1001, "codes")])
def test_no_codes_and_too_many_are_refused(client, product, codes, field):
    assert list(errors(type_in(client, product, codes, "preview"))) == [field]
