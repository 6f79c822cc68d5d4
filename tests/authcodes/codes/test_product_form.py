"""The form of a product: its price is written as the language writes it."""

from decimal import Decimal

import pytest

from authcodes.models.products import Product
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("language", "shown"), [("en", "89.50"), ("de", "89,50"), ("ar", "89.50")])
def test_price_is_written_in_the_reader_s_language_and_saved_unchanged(brand, language, shown):
    product = factories.product(brand, retail_price=Decimal("89.50"))
    client, page = browser(staff(brand)), address("authcodes.product", "change", product.pk)

    answer = client.get(page, headers={"accept-language": language})
    client.post(page, {**form_of(answer), "title": "Another"}, headers={"accept-language": language})

    assert f'value="{shown}"' in text(answer)
    assert Product.objects.values_list("title", "retail_price").get() == ("Another", Decimal("89.50"))


@pytest.mark.parametrize("typed", ["99,95", "99.95"])
def test_in_german_a_comma_and_a_point_are_taken(brand, typed):
    product = factories.product(brand)
    client, page = browser(staff(brand)), address("authcodes.product", "change", product.pk)

    client.post(page, {**form_of(client.get(page)), "retail_price": typed}, headers={"accept-language": "de"})

    assert Product.objects.values_list("retail_price", flat=True).get() == Decimal("99.95")
