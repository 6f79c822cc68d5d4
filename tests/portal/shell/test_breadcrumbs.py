"""The breadcrumbs in the header of the portal's pages."""

import pytest
from django.urls import reverse
from django.utils.html import escape

from loyalty.models.messages.addresses import SuppressedAddress
from portal.base.sidebar import GROUPS
from portal.shell.navigation import entries
from tests.support import factories
from tests.support.portal import address, browser, staff, text


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def header(response):
    return text(response).partition("<h1")[2].partition("</h1>")[0]


@pytest.mark.parametrize("group", GROUPS)
def test_lists_name_their_group_of_the_sidebar(client, group):
    for label in entries()[group]:
        assert f">{escape(group)}<" in header(client.get(address(label))), label


def test_email_addresses_keep_their_lower_case(client, brand, customer):
    customer.email = "anna@example.com"
    customer.save()
    member = factories.account(customer, brand)
    SuppressedAddress.objects.create(brand=brand, channel="email", digest="d" * 64, masked_address="b•••@example.com")

    member_header = header(client.get(address("loyalty.userpoints", "change", member.pk)))
    suppressed_header = header(
        client.get(address("loyalty.suppressedaddress", "change", SuppressedAddress.objects.get().pk))
    )

    assert ">anna@example.com<" in member_header
    assert ">b•••@example.com<" in suppressed_header
    assert f'href="{address("loyalty.userpoints")}"' in member_header


def test_member_is_shown_by_name_when_it_is_known(client, brand, customer):
    customer.first_name, customer.last_name = "Anna", "Auer"
    customer.save()
    member = factories.account(customer, brand)

    assert ">Anna Auer<" in header(client.get(address("loyalty.userpoints", "change", member.pk)))


def test_only_lists_have_a_link_that_adds_a_row(client, brand):
    product = factories.product(brand)
    pages = [address("authcodes.product"), address("authcodes.product", "add")]
    pages.append(address("authcodes.product", "change", product.pk))

    assert ["addlink" in text(client.get(page)) for page in pages] == [True, False, False]


def test_other_pages_name_themselves_in_the_header(client, brand, customer):
    member = factories.account(customer, brand)

    choose_header = header(client.get(reverse("admin:authcodes_printrun_choose")))
    add_header = header(client.get(address("loyalty.reward", "add")))
    adjust_header = header(client.get(reverse("admin:loyalty_userpoints_adjust", args=[member.pk])))

    assert [
        link_text in page
        for link_text, page in (
            (">Print queue<", choose_header),
            (">Print codes<", choose_header),
            (">Add reward<", add_header),
        )
    ] == [
        True,
        True,
        True,
    ]
    assert f">Adjust the points of {customer.email}<" in adjust_header
    assert ">Select" not in header(client.get(address("loyalty.reward")))


def test_names_in_the_header_are_escaped(client, brand):
    product = factories.product(brand, title="<script>alert(1)</script>")

    product_header = header(client.get(address("authcodes.product", "change", product.pk)))

    assert "<script>" not in product_header
    assert "&lt;script&gt;" in product_header
