"""The form and list of products: localised prices, currencies, pictures and points."""

from decimal import Decimal

import pytest

from authcodes.models.products import Product
from brands.models.tenants import Picture
from loyalty.models.levels import BrandLevel
from tests.support import factories
from tests.support.portal import address, browser, form_of, page, staff, text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("language", "displayed"), [("en", "89.50"), ("de", "89,50"), ("ar", "89.50")])
def test_price_is_displayed_in_the_users_language_and_saved_unchanged(brand, language, displayed):
    product = factories.product(brand, retail_price=Decimal("89.50"))
    client, url = browser(staff(brand)), address("authcodes.product", "change", product.pk)

    answer = client.get(url, headers={"accept-language": language})
    client.post(url, {**form_of(answer), "title": "Another"}, headers={"accept-language": language})

    assert f'value="{displayed}"' in text(answer)
    assert Product.objects.values_list("title", "retail_price").get() == ("Another", Decimal("89.50"))


@pytest.mark.parametrize("entered", ["99,95", "99.95"])
def test_german_form_accepts_a_comma_or_a_point_in_prices(brand, entered):
    product = factories.product(brand)
    client, url = browser(staff(brand)), address("authcodes.product", "change", product.pk)

    client.post(url, {**form_of(client.get(url)), "retail_price": entered}, headers={"accept-language": "de"})

    assert Product.objects.values_list("retail_price", flat=True).get() == Decimal("99.95")


@pytest.mark.parametrize(("language", "entered", "example"), [("en", "4,50", "4.50"), ("de", "vier", "4,50")])
def test_invalid_price_is_rejected_with_an_example(brand, language, entered, example):
    product = factories.product(brand)
    client, url = browser(staff(brand)), address("authcodes.product", "change", product.pk)
    headers = {"accept-language": language}

    response = client.post(url, {**form_of(client.get(url)), "retail_price": entered}, headers=headers)

    [message] = response.context["adminform"].form.errors["retail_price"]
    assert example in message


def test_price_label_names_the_currency_once_the_brand_is_known(brand):
    brand_in_francs, brand_in_dollars = factories.brand(currency="CHF"), factories.brand(currency="USD")
    product, client_of_both_brands = (
        factories.product(brand_in_francs),
        browser(staff(brand_in_francs, brand_in_dollars)),
    )
    add, change = address("authcodes.product", "add"), address("authcodes.product", "change", product.pk)

    pages = [
        text(answer)
        for answer in (
            browser(staff(brand_in_dollars)).get(add),
            client_of_both_brands.get(change),
            client_of_both_brands.get(add),
        )
    ]

    assert [[currency for currency in ("CHF", "USD") if currency in page] for page in pages] == [["USD"], ["CHF"], []]
    assert "In the brand's currency." in pages[2]


def test_remove_picture_is_offered_only_if_there_is_a_picture(client, brand):
    picture = Picture.objects.create(brand=brand, content_type="image/png", width=1, height=1)
    without_picture, with_picture = factories.product(brand), factories.product(brand, picture=picture)
    pages = [("add",), ("change", without_picture.pk), ("change", with_picture.pk)]

    offered = ["Remove picture" in text(client.get(address("authcodes.product", *page))) for page in pages]

    assert offered == [False, False, True]


def test_staff_who_may_only_view_a_product_see_its_picture(brand):
    picture = Picture.objects.create(brand=brand, content_type="image/png", width=1, height=1)
    without_picture, with_picture = factories.product(brand), factories.product(brand, picture=picture)
    client = browser(staff(brand, role="support"))

    pages = [
        text(client.get(address("authcodes.product", "change", row.pk))) for row in (without_picture, with_picture)
    ]

    assert ["current-picture" in html for html in pages] == [False, True]
    assert ["picture_file" in html for html in pages] == [False, False]


def test_list_shows_what_a_scan_earns_for_products_without_points(client, brand):
    for value in (None, 0, 900):
        factories.product(brand, redeem_point_value=value)

    def listed():
        rows = client.get(address("authcodes.product")).context["cl"].result_list
        return sorted(page("authcodes.product").points(row) for row in rows)

    BrandLevel.objects.filter(brand=brand).delete()
    assert listed() == ["1", "1", "900"]
    factories.level(brand)
    assert listed() == ["900", "Level's points", "Level's points"]


def test_list_shows_each_price_in_its_brands_currency(brand):
    other = factories.brand(currency="CHF")
    factories.product(brand, sku="A", retail_price=Decimal("1289.50"))
    factories.product(other, sku="B", retail_price=Decimal("7"))
    factories.product(other, sku="C", retail_price=None)

    listed = text(browser(staff(brand, other)).get(address("authcodes.product"), headers={"accept-language": "de"}))

    assert "1.289,50 EUR" in listed
    assert "7,00 CHF" in listed
