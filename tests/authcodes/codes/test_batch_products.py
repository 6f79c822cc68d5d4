"""Which batches hold codes of a product: each is one look into an index, however many codes it has."""

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
MAX_ROWS = 60  # that one statement may read of codes, for five batches


@pytest.fixture
def product(brand):
    return factories.product(brand, title="Lamp")


@pytest.fixture
def batches(brand, product):
    """Of the product; of none, with its codes, with some, with another's; of another product, with one of its codes."""
    other = factories.product(brand, title="Kettle")
    made = {
        "of it": factories.batch(brand, product=product, range_name="of it", quantity=CODES),
        "given": factories.batch(brand, product=None, range_name="given", quantity=CODES),
        "mixed": factories.batch(brand, product=None, range_name="mixed", quantity=CODES),
        "foreign": factories.batch(brand, product=other, range_name="foreign", quantity=CODES),
        "one of it": factories.batch(brand, product=other, range_name="one of it", quantity=CODES),
    }
    codes = AuthCode.objects.all()
    codes.filter(batch__in=[made["of it"], made["given"]]).update(product=product)
    codes.filter(batch__in=[made["mixed"], made["foreign"], made["one of it"]]).update(product=other)
    codes.filter(pk=made["mixed"].codes.latest("pk").pk).update(product=product)
    codes.filter(pk=made["one of it"].codes.latest("pk").pk).update(product=product)
    codes.filter(pk=made["given"].codes.earliest("pk").pk).update(product=None)
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ANALYZE authcodes_authcode; ANALYZE authcodes_batchrange")
    return made


def rows_read(statement):
    """How many rows of the table of codes a statement reads, filtered out ones too, and in all its loops."""

    def of(plan):
        read = plan.get("Actual Rows", 0) + plan.get("Rows Removed by Filter", 0)
        own = read * plan.get("Actual Loops", 1) if plan.get("Relation Name") == "authcodes_authcode" else 0
        return own + sum(of(each) for each in plan.get("Plans", ()))

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        found = cursor.fetchone()[0]
    return of((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])


def about_codes(queries):
    return [
        each["sql"]
        for each in queries
        if "authcodes_authcode" in each["sql"] and each["sql"].startswith(("SELECT", "WITH", "--"))
    ]


def test_every_batch_with_a_code_of_the_product_is_found(product, batches):
    found = batch_products.batch_ids(product)

    assert found == [batches[name].pk for name in ("of it", "given", "mixed", "one of it")]
    assert batch_products.mixed_batches(found, product, limit=9) == ["mixed", "one of it"]
    assert batch_products.mixed_batches(found, product, limit=1) == ["mixed"]


def test_the_products_of_codes_are_found_some_for_each_batch(brand, product, batches):
    ids = [batches["mixed"].pk, batches["given"].pk]
    assert batch_products.products_in(ids) == set(
        AuthCode.objects.filter(batch__in=ids, product__isnull=False).values_list("product", flat=True)
    )
    assert batch_products.products_in([]) == set()

    for code in batches["given"].codes.all()[:20]:
        AuthCode.objects.filter(pk=code.pk).update(product=factories.product(brand))
    assert len(batch_products.products_in([batches["given"].pk])) == batch_products.MAX_PRODUCTS


def test_the_page_of_a_products_recall_does_not_read_its_codes(brand, product, batches):
    client = browser(staff(brand))
    with CaptureQueriesContext(connection) as captured:
        page = client.get(address("authcodes.recall", "add"), {"kind": "product", "product": product.pk})

    assert len(page.context["summary"].scope.parts) == 4
    statements = [each for each in about_codes(captured.captured_queries) if "$1" not in each]  # the next test's
    assert len(statements) >= 2
    assert [each for each in statements if rows_read(each) > MAX_ROWS] == []


def test_a_poster_of_batches_without_a_product_does_not_read_their_codes(product, batches):
    texts = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
    recall = recalls.recall_batch(batch=batches["given"], at=timezone.now(), **texts)
    with CaptureQueriesContext(connection) as captured:
        assert [each.title for each in posters.of_recall(recall).products] == ["Lamp"]

    [statement] = about_codes(captured.captured_queries)
    filled = statement.replace("$1", f"'{{{batches['given'].pk}}}'").replace("$2", str(batch_products.MAX_PRODUCTS))
    assert rows_read(filled) <= MAX_ROWS
