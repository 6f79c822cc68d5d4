"""What a field says it is described by is on the page: a screen reader reads its help and its errors."""

import re
from typing import Any

import pytest

from authcodes.models.products import Product
from tests.support import factories
from tests.support.portal import address, brand_with_one_of_each, browser, form_of, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

ROW = re.compile(r"id_\w+-(\d+|__prefix__)-")
DESCRIBED_BY = re.compile(r'aria-describedby="([^"]*)"')


def missing(response: Any) -> set[str]:
    """Named ids that the page has not; the help of tables of rows stands in the heads of their columns."""
    page = text(response)
    named = {name for names in DESCRIBED_BY.findall(page) for name in names.split()}
    return {name for name in named if f'id="{name}"' not in page and not ROW.match(name)}


def test_help_is_where_fields_say_it_is() -> None:
    brand, rows = brand_with_one_of_each("here")
    client = browser(staff(brand))
    found = {}
    for label, row in rows.items():
        response = client.get(address(label, "change", row.pk), follow=True)
        if response.status_code == 200 and (without := missing(response)):
            found[label] = sorted(without)
    for label in ("authcodes.product", "campaigns.campaign", "loyalty.reward", "authcodes.batchrange"):
        if without := missing(client.get(address(label, "add"))):
            found[f"a new {label}"] = sorted(without)

    assert found == {}


def test_errors_are_where_fields_say_they_are(brand: Any) -> None:
    client, product = browser(staff(brand)), factories.product(brand)
    its = address("authcodes.product", "change", product.pk)

    response = client.post(its, {**form_of(client.get(its)), "title": "", "retail_price": "x"})

    assert 'id="id_retail_price_error"' in text(response)
    assert missing(response) == set()
    assert Product.objects.get().title == product.title


def test_the_print_studio_describes_its_fields(brand: Any) -> None:
    batch = factories.batch(brand)
    client = browser(staff(brand))
    studio = address("authcodes.printrun", "batch", batch.pk)

    response = client.post(studio, {"confirm": "1"})

    assert 'id="id_first_error"' in text(response)
    assert missing(response) == set()
