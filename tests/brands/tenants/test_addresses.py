"""URLs that staff enter: those that can never be called are rejected in the form."""

import pytest

from brands.tenants.callable_urls import callable_address
from core.errors import Invalid
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("https://shop.example/hooks?key=1", "https://shop.example/hooks?key=1"),
        (" https://shop.example ", "https://shop.example/"),
        ("HTTPS://Shop.Example:8443/Hooks#part", "https://shop.example:8443/Hooks"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://93.184.215.14/", "https://93.184.215.14/"),
        ("https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/"),
    ],
)
def test_url_is_normalised_to_the_form_that_is_called(written, called):
    assert callable_address(written) == called


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "begins with https"),
        ("shop.example/hooks", "begins with https"),
        ("ftp://shop.example/", "begins with https"),
        ("http://shop.example/", "begins with https"),
        ("https://", "begins with https"),
        ("https://[::1", "not a valid web address"),
        ("https://shop.example:99999/", "not a valid web address"),
        ("https://shop.example:port/", "not a valid web address"),
        ("https://me:word@shop.example/", "Remove the user name and password"),
        ("https://shop.example/a b", "not contain spaces"),
        ("https://shop.example/\u2603", "not contain spaces"),
        ("https://shop example/", "not a valid hostname"),
        ("https://-shop.example/", "not a valid hostname"),
        ("https://shop..example/", "not a valid hostname"),
        (f"https://{'a' * 64}.example/", "not a valid hostname"),
        ("https://public.example\\@127.0.0.1/", "Remove the user name and password"),
        ("https://shop.example/" + "a" * 500, "at most 500"),
        ("https://localhost/", "private network address"),
        ("https://api.localhost/", "private network address"),
        ("https://127.0.0.1/", "private network address"),
        ("https://127.1/", "private network address"),
        ("https://2130706433/", "private network address"),
        ("https://0x7f000001/", "private network address"),
        ("https://[::1]/", "private network address"),
        ("https://[::ffff:10.0.0.1]/", "private network address"),
        ("https://169.254.169.254/latest/meta-data", "private network address"),
        ("https://10.0.0.1/", "private network address"),
        ("https://shop.ours.example/s/1", "belongs to this service"),
    ],
)
def test_url_that_can_never_be_called_is_rejected_at_its_field(written, message):
    factories.brand(hostname="shop.ours.example")

    with pytest.raises(Invalid, match=message) as raised:
        callable_address(written)

    assert raised.value.details == {"field": "url"}


def test_own_hostname_of_the_service_is_rejected(settings):
    settings.ALLOWED_HOSTS = [".loyalty.example"]

    with pytest.raises(Invalid, match="belongs to this service"):
        callable_address("https://portal.loyalty.example/")


def test_private_networks_may_be_called_if_the_operator_allows_them(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["10.0.0.0/8"]

    assert callable_address("http://10.0.0.1:8080/") == "http://10.0.0.1:8080/"
    assert callable_address("http://till.shop.lan/") == "http://till.shop.lan/"  # resolved when it is called
    with pytest.raises(Invalid, match="private network address"):
        callable_address("http://192.168.0.1/")
    with pytest.raises(Invalid, match="https"):
        callable_address("http://93.184.215.14/")
