"""The Origin header narrows a key to the hostnames of its brand."""

import pytest

from brands.errors import OriginNotAllowed
from brands.models.tenants import BrandHostname
from brands.tenants import origins
from tests.support import factories


@pytest.fixture
def shop(db):
    brand = factories.brand(hostname="shop.example.com")
    BrandHostname.objects.create(brand=brand, hostname="localhost:8000")
    BrandHostname.objects.create(brand=brand, hostname="secure.example.com:443")
    return brand


@pytest.mark.parametrize(
    "origin",
    [
        "https://shop.example.com",
        "http://shop.example.com",
        "https://shop.example.com/",
        "https://shop.example.com:8443",
        "HTTPS://Shop.Example.COM",
        "https://shop.example.com.",
        "https://shop.example.com.:443/",
        "shop.example.com",
        "SHOP.example.com.",
        "shop.example.com:80",
        " shop.example.com ",
        "capacitor://shop.example.com",
        "http://localhost:8000",
        "localhost:8000",
        "https://secure.example.com",
        "https://secure.example.com:443",
        "secure.example.com",
    ],
)
def test_origin_of_the_brand_is_accepted(shop, origin):
    origins.check(origin=origin, brand_id=shop.pk)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        " ",
        "null",
        "https://",
        "https://other.example.com",
        "https://example.com",
        "https://evil-shop.example.com",
        "https://shop.example.com.evil.com",
        "https://evil.com/shop.example.com",
        "https://shop.example.com/path",
        "https://shop.example.com?x",
        "https://shop.example.com#x",
        "https://user@shop.example.com",
        "https://shop.example.com@evil.com",
        "https://shop.example.com:8443@evil.com",
        "https://shop.example.com:port",
        "https://shop.example.com:123456",
        "https://shop.example.com\n",
        "shop.example.com,evil.com",
        "http://localhost",
        "http://localhost:8001",
        "http://secure.example.com",
        "https://[::1]",
        "//shop.example.com",
        "shop.example.com\0",
        "shop_example_com",
        "shöp.example.com",
        "%",
        "a" * 100_000,
    ],
    ids=lambda origin: ascii(origin)[:40],
)
def test_any_other_origin_is_rejected(shop, origin):
    with pytest.raises(OriginNotAllowed):
        origins.check(origin=origin, brand_id=shop.pk)


def test_longest_hostname_is_accepted_with_scheme_and_port(db):
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    owner = factories.brand(hostname=longest)

    origins.check(origin=f"https://{longest}:65535/", brand_id=owner.pk)


def test_origin_of_another_brand_is_rejected(shop):
    other = factories.brand(hostname="other.example.com")

    with pytest.raises(OriginNotAllowed):
        origins.check(origin="https://shop.example.com", brand_id=other.pk)


def test_check_takes_one_statement(shop, django_assert_num_queries):
    with django_assert_num_queries(1):
        origins.check(origin="https://shop.example.com", brand_id=shop.pk)
