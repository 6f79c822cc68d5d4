"""Statements of imports look up each code by itself, also before PostgreSQL has counted what was added just now."""

import json

import pytest
from django.db import connection

from authcodes.imports.assignments import ASSIGN_LIST
from authcodes.imports.checks import FIND_CODES, MARK_TAKEN_CODES, OUR_ERRORS
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from tests.support import factories
from tests.support.portal import staff
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db

CODES = 2000
OF_BRAND = "c.brand_id + 0 = %(brand)s::bigint"


def analyse():
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ANALYZE authcodes_authcode")


def upload_of(brand, codes):
    """A list with these codes."""
    upload = Import.objects.create(
        brand=brand, kind="list", product=factories.product(brand), uploaded_by=staff(brand), file_name="codes.csv"
    )
    ImportRow.objects.bulk_create(
        ImportRow(upload=upload, line=line, values=[], code=code) for line, code in enumerate(codes, start=2)
    )
    return upload


@pytest.fixture
def upload_after_another(brand):
    """A list of as many codes as were assigned to another product since the table was analysed."""
    batch = factories.batch(brand, quantity=2 * CODES, assigned=False)
    analyse()
    codes = list(batch.codes.order_by("code").values_list("pk", "code"))
    AuthCode.objects.filter(pk__in=[pk for pk, _code in codes[:CODES]]).update(product=factories.product(brand))
    return upload_of(brand, [code for _pk, code in codes[CODES:]])


@pytest.fixture
def upload_of_new_brand(brand):
    """A list of codes of a brand that had none when the table was analysed."""
    factories.batch(factories.brand(), quantity=CODES, assigned=False)
    analyse()
    batch = factories.batch(brand, quantity=CODES, assigned=False)
    return upload_of(brand, batch.codes.order_by("code").values_list("code", flat=True))


def rows_read(statement, upload):
    """How many rows of codes and of imports the statement reads, with those that it filters out."""

    def read(plan):
        removed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Join Filter", 0)
        own = (plan["Actual Rows"] + removed) * plan["Actual Loops"]
        return own + sum(read(each) for each in plan.get("Plans", ()))

    values = {"upload": upload.pk, "brand": upload.brand_id, "product": upload.product_id, "column": "auth_code"}
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}", {**values, **OUR_ERRORS, "taken": "Taken"})
        (explained,) = cursor.fetchone()
    return read((json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"])


def test_codes_of_another_product_are_looked_up_one_by_one(upload_after_another):
    assert rows_read(MARK_TAKEN_CODES, upload_after_another) <= 10 * CODES


def test_control_a_plain_comparison_reads_all_assigned_codes_for_each_row(upload_after_another):
    """The index of assigned codes was empty when the table was analysed, so it seems cheaper than a look-up."""
    plain = with_replacements(
        MARK_TAKEN_CODES,
        ("coalesce(c.product_id, %(product)s::bigint) <> %(product)s::bigint", "c.product_id <> %(product)s::bigint"),
    )

    assert rows_read(plain, upload_after_another) > 100 * CODES


@pytest.mark.parametrize("statement", [*FIND_CODES["code"], ASSIGN_LIST])
def test_codes_of_a_new_brand_are_looked_up_one_by_one(upload_of_new_brand, statement):
    assert rows_read(statement, upload_of_new_brand) <= 10 * CODES


@pytest.mark.parametrize("statement", [FIND_CODES["code"][-1], ASSIGN_LIST])
def test_control_a_plain_condition_reads_all_codes_of_a_new_brand_for_each_row(upload_of_new_brand, statement):
    plain = with_replacements(statement, (OF_BRAND, "c.brand_id = %(brand)s::bigint"))

    assert rows_read(plain, upload_of_new_brand) > 100 * CODES
