"""Elements that `aria-describedby` refers to are on the page, so that screen readers read a field's help and errors."""

import re
from typing import Any

import pytest

from authcodes.models.products import Product
from tests.support import factories
from tests.support.portal import address, brand_with_one_of_each, browser, form_of, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

ROW = re.compile(r"id_\w+-(\d+|__prefix__)-")
DESCRIBED_BY = re.compile(r'aria-describedby="([^"]*)"')


def missing_ids(response: Any) -> set[str]:
    """Ids that fields refer to and that the page lacks, except in tables, where column headings contain the help."""
    page = text(response)
    referenced = {name for names in DESCRIBED_BY.findall(page) for name in names.split()}
    return {name for name in referenced if f'id="{name}"' not in page and not ROW.match(name)}


def test_every_field_refers_to_help_that_is_on_the_page() -> None:
    brand, rows = brand_with_one_of_each("here")
    client = browser(staff(brand))
    missing_by_page = {}
    for label, row in rows.items():
        response = client.get(address(label, "change", row.pk), follow=True)
        if response.status_code == 200 and (ids := missing_ids(response)):
            missing_by_page[label] = sorted(ids)
    for label in ("authcodes.product", "campaigns.campaign", "loyalty.reward", "authcodes.batchrange"):
        if ids := missing_ids(client.get(address(label, "add"))):
            missing_by_page[f"a new {label}"] = sorted(ids)

    assert missing_by_page == {}


def test_every_field_refers_to_errors_that_are_on_the_page(brand: Any) -> None:
    client, product = browser(staff(brand)), factories.product(brand)
    change_url = address("authcodes.product", "change", product.pk)

    response = client.post(change_url, {**form_of(client.get(change_url)), "title": "", "retail_price": "x"})

    assert 'id="id_retail_price_error"' in text(response)
    assert missing_ids(response) == set()
    assert Product.objects.get().title == product.title


def test_print_studio_fields_refer_to_errors_on_the_page(brand: Any) -> None:
    batch = factories.batch(brand)
    client = browser(staff(brand))
    studio_url = address("authcodes.printrun", "batch", batch.pk)

    response = client.post(studio_url, {"confirm": "1"})

    assert 'id="id_first_error"' in text(response)
    assert missing_ids(response) == set()
