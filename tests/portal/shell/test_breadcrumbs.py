"""The header of the portal's pages says where one is."""

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


def header(answer):
    return text(answer).partition("<h1")[2].partition("</h1>")[0]


@pytest.mark.parametrize("group", GROUPS)
def test_groups_are_those_of_the_sidebar(client, group):
    for label in entries()[group]:
        assert f">{escape(group)}<" in header(client.get(address(label))), label


def test_what_somebody_entered_keeps_its_letters(client, brand, customer):
    customer.email = "anna@example.com"
    customer.save()
    member = factories.account(customer, brand)
    SuppressedAddress.objects.create(brand=brand, channel="email", digest="d" * 64, masked_address="b•••@example.com")

    shown = header(client.get(address("loyalty.userpoints", "change", member.pk)))
    stopped = header(client.get(address("loyalty.suppressedaddress", "change", SuppressedAddress.objects.get().pk)))

    assert ">anna@example.com<" in shown
    assert ">b•••@example.com<" in stopped
    assert f'href="{address("loyalty.userpoints")}"' in shown


def test_a_member_is_called_by_name_where_it_is_known(client, brand, customer):
    customer.first_name, customer.last_name = "Anna", "Auer"
    customer.save()
    member = factories.account(customer, brand)

    assert ">Anna Auer<" in header(client.get(address("loyalty.userpoints", "change", member.pk)))


def test_only_lists_lead_to_a_new_row(client, brand):
    product = factories.product(brand)
    pages = [address("authcodes.product"), address("authcodes.product", "add")]
    pages.append(address("authcodes.product", "change", product.pk))

    assert ["addlink" in text(client.get(page)) for page in pages] == [True, False, False]


def test_pages_beside_lists_and_rows_say_their_own_name(client, brand, customer):
    member = factories.account(customer, brand)

    choosing = header(client.get(reverse("admin:authcodes_printrun_choose")))
    adding = header(client.get(address("loyalty.reward", "add")))
    adjusting = header(client.get(reverse("admin:loyalty_userpoints_adjust", args=[member.pk])))

    assert [
        link_text in page
        for link_text, page in ((">Print queue<", choosing), (">Print codes<", choosing), (">Add reward<", adding))
    ] == [
        True,
        True,
        True,
    ]
    assert f">Adjust the points of {customer.email}<" in adjusting
    assert ">Select" not in header(client.get(address("loyalty.reward")))


def test_names_in_the_header_are_text(client, brand):
    product = factories.product(brand, title="<script>alert(1)</script>")

    shown = header(client.get(address("authcodes.product", "change", product.pk)))

    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
