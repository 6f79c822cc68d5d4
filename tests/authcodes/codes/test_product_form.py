"""The form of a product: its price is written as the language writes it."""

from decimal import Decimal

import pytest

from authcodes.models.products import Product
from brands.models.tenants import Picture
from loyalty.models.levels import BrandLevel
from tests.support import factories
from tests.support.portal import address, browser, form_of, page, staff, text

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


@pytest.mark.parametrize(("language", "typed", "example"), [("en", "4,50", "4.50"), ("de", "vier", "4,50")])
def test_a_price_that_is_no_number_is_refused_with_an_example(brand, language, typed, example):
    product = factories.product(brand)
    client, its = browser(staff(brand)), address("authcodes.product", "change", product.pk)
    headers = {"accept-language": language}

    refused = client.post(its, {**form_of(client.get(its)), "retail_price": typed}, headers=headers)

    [message] = refused.context["adminform"].form.errors["retail_price"]
    assert example in message


def test_the_price_names_the_brands_currency_once_the_brand_is_known(brand):
    here, there = factories.brand(currency="CHF"), factories.brand(currency="USD")
    product, both = factories.product(here), browser(staff(here, there))
    add, change = address("authcodes.product", "add"), address("authcodes.product", "change", product.pk)

    pages = [text(answer) for answer in (browser(staff(there)).get(add), both.get(change), both.get(add))]

    assert [[currency for currency in ("CHF", "USD") if currency in page] for page in pages] == [["USD"], ["CHF"], []]
    assert "In the brand's currency." in pages[2]


def test_a_picture_can_be_removed_where_there_is_one(client, brand):
    picture = Picture.objects.create(brand=brand, content_type="image/png", width=1, height=1)
    bare, pictured = factories.product(brand), factories.product(brand, picture=picture)
    pages = [("add",), ("change", bare.pk), ("change", pictured.pk)]

    offered = ["Remove picture" in text(client.get(address("authcodes.product", *page))) for page in pages]

    assert offered == [False, False, True]


def test_who_may_only_read_a_product_sees_its_picture_if_there_is_one(brand):
    picture = Picture.objects.create(brand=brand, content_type="image/png", width=1, height=1)
    bare, pictured = factories.product(brand), factories.product(brand, picture=picture)
    reader = browser(staff(brand, role="support"))

    pages = [text(reader.get(address("authcodes.product", "change", row.pk))) for row in (bare, pictured)]

    assert ["picture-now" in each for each in pages] == [False, True]
    assert ["picture_file" in each for each in pages] == [False, False]


def test_the_list_says_what_a_scan_earns_where_a_product_has_no_points(client, brand):
    for value in (None, 0, 900):
        factories.product(brand, redeem_point_value=value)

    def listed():
        rows = client.get(address("authcodes.product")).context["cl"].result_list
        return sorted(page("authcodes.product").points(row) for row in rows)

    BrandLevel.objects.filter(brand=brand).delete()
    assert listed() == ["1", "1", "900"]
    factories.level(brand)
    assert listed() == ["900", "Level's points", "Level's points"]


def test_the_list_shows_each_price_in_its_brands_currency(brand):
    other = factories.brand(currency="CHF")
    factories.product(brand, sku="A", retail_price=Decimal("1289.50"))
    factories.product(other, sku="B", retail_price=Decimal("7"))
    factories.product(other, sku="C", retail_price=None)

    listed = text(browser(staff(brand, other)).get(address("authcodes.product"), headers={"accept-language": "de"}))

    assert "1.289,50 EUR" in listed
    assert "7,00 CHF" in listed
