"""Batches with codes of a product: each needs one index lookup, however many codes it has."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.codes import batch_products
from authcodes.models.codes import AuthCode
from authcodes.printing import posters
from authcodes.recalls import recalls
from tests.support import factories
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db
CODES = 1500
MAX_ROWS = 60  # of the table of codes that one statement may read for five batches


@pytest.fixture
def product(brand):
    return factories.product(brand, title="Lamp")


@pytest.fixture
def batches(brand, product):
    """Batches of the product, of another one and of none, with all, some or none of their codes of the product."""
    other = factories.product(brand, title="Kettle")
    batches_by_name = {
        "of it": factories.batch(brand, product=product, range_name="of it", quantity=CODES),
        "given": factories.batch(brand, product=None, range_name="given", quantity=CODES),
        "mixed": factories.batch(brand, product=None, range_name="mixed", quantity=CODES),
        "foreign": factories.batch(brand, product=other, range_name="foreign", quantity=CODES),
        "one of it": factories.batch(brand, product=other, range_name="one of it", quantity=CODES),
    }
    codes = AuthCode.objects.all()
    codes.filter(batch__in=[batches_by_name["of it"], batches_by_name["given"]]).update(product=product)
    codes.filter(batch__in=[batches_by_name["mixed"], batches_by_name["foreign"], batches_by_name["one of it"]]).update(
        product=other
    )
    codes.filter(pk=batches_by_name["mixed"].codes.latest("pk").pk).update(product=product)
    codes.filter(pk=batches_by_name["one of it"].codes.latest("pk").pk).update(product=product)
    codes.filter(pk=batches_by_name["given"].codes.earliest("pk").pk).update(product=None)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ANALYZE authcodes_authcode; ANALYZE authcodes_batchrange")
    return batches_by_name


def rows_read(statement):
    """How many rows of the table of codes a statement reads in all its loops, including rows filtered out."""

    def rows_of(plan):
        read = plan.get("Actual Rows", 0) + plan.get("Rows Removed by Filter", 0)
        rows = read * plan.get("Actual Loops", 1) if plan.get("Relation Name") == "authcodes_authcode" else 0
        return rows + sum(rows_of(subplan) for subplan in plan.get("Plans", ()))

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        explained = cursor.fetchone()[0]
    return rows_of((json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"])


def code_statements(queries):
    return [
        query["sql"]
        for query in queries
        if "authcodes_authcode" in query["sql"] and query["sql"].startswith(("SELECT", "WITH", "--"))
    ]


def test_batch_ids_lists_every_batch_with_a_code_of_the_product(product, batches):
    batch_ids = batch_products.batch_ids(product)

    assert batch_ids == [batches[name].pk for name in ("of it", "given", "mixed", "one of it")]
    assert batch_products.mixed_batches(batch_ids, product, limit=9) == ["mixed", "one of it"]
    assert batch_products.mixed_batches(batch_ids, product, limit=1) == ["mixed"]


def test_products_in_batches_are_listed_up_to_a_limit_per_batch(brand, product, batches):
    ids = [batches["mixed"].pk, batches["given"].pk]
    assert batch_products.products_in(ids) == set(
        AuthCode.objects.filter(batch__in=ids, product__isnull=False).values_list("product", flat=True)
    )
    assert batch_products.products_in([]) == set()

    for code in batches["given"].codes.all()[:20]:
        AuthCode.objects.filter(pk=code.pk).update(product=factories.product(brand))
    assert len(batch_products.products_in([batches["given"].pk])) == batch_products.MAX_PRODUCTS


def test_page_of_a_product_recall_reads_few_rows_of_codes(brand, product, batches):
    client = browser(staff(brand))
    with CaptureQueriesContext(connection) as captured:
        page = client.get(address("authcodes.recall", "add"), {"kind": "product", "product": product.pk})

    assert len(page.context["summary"].scope.parts) == 4
    statements = [
        statement for statement in code_statements(captured.captured_queries) if "$1" not in statement
    ]  # statements with parameters are checked by the next test
    assert len(statements) >= 2
    assert [statement for statement in statements if rows_read(statement) > MAX_ROWS] == []


def test_poster_of_a_batch_without_a_product_reads_few_rows_of_codes(product, batches):
    texts = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
    recall = recalls.recall_batch(batch=batches["given"], at=timezone.now(), **texts)
    with CaptureQueriesContext(connection) as captured:
        assert [poster_product.title for poster_product in posters.of_recall(recall).products] == ["Lamp"]

    [statement] = code_statements(captured.captured_queries)
    executable = statement.replace("$1", f"'{{{batches['given'].pk}}}'").replace("$2", str(batch_products.MAX_PRODUCTS))
    assert rows_read(executable) <= MAX_ROWS
