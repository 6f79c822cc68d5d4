"""PostgreSQL's estimates of guarded rows, which lists display as their length and the planner uses."""

from typing import Any

import pytest
from django.db import connection

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from brands.isolation import policies
from brands.models.tenants import Brand
from core.db import row_guard
from portal.lists.changelist import plan_of
from tests.support import factories, portal

CODES, SCANS = 600, 200


@pytest.fixture
def filled(brand: Brand) -> Brand:
    for each in (brand, factories.brand()):
        batch = factories.batch(each, quantity=CODES)
        for code in batch.codes.all()[:SCANS]:
            portal.scan(code)
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("ANALYZE authcodes_authcode, authcodes_scan, brands_brand")
    return brand


@pytest.mark.parametrize(("model", "number"), [(AuthCode, CODES), (Scan, SCANS)])
def test_estimated_number_of_rows_is_close_to_that_of_the_brand(filled: Brand, model: Any, number: int) -> None:
    rows = model.objects.filter(brand=filled)

    with row_guard.within([filled.pk]):
        expected = plan_of(rows)["Plan Rows"]

    assert number * 0.8 < expected < number * 1.2


def test_index_of_a_brands_scans_has_the_columns_of_their_policy() -> None:
    [index] = [each for each in Scan._meta.indexes if each.name == "scan_of_brand"]
    names = {name.lstrip("-") for name in (*index.fields, *index.include)}
    columns = {field.column for field in Scan._meta.concrete_fields if field.column in policies.condition(Scan)}

    assert columns == {"brand_id", "user_id"}
    assert columns <= {Scan._meta.get_field(name).column for name in names}
