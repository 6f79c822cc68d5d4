"""A list that is searched by customer answers a text that it cannot search for with the reason, on the list."""

import pytest
from django.contrib import admin

from tests.support import factories
from tests.support.portal import address, browser, staff, text
from tests.support.referrals import programme, referred_friend

LISTS = sorted(page.opts.label_lower for page in admin.site._registry.values() if getattr(page, "customer_path", ""))


@pytest.mark.parametrize("label", LISTS)
def test_list_explains_why_it_cannot_be_searched(brand, label):
    response = browser(staff(brand)).get(address(label), {"q": "x" * 201})

    assert response.status_code == 200
    assert "Type at most 200 characters of a name or address." in text(response)
    assert not response.context["cl"].result_count


def test_referrals_are_searched_by_both_members(brand):
    programme(brand)
    member, outsider = factories.customer(brand), factories.customer(brand)
    friend, referral = referred_friend(member, brand)
    client = browser(staff(brand))

    rows = [
        list(client.get(address("loyalty.referral"), {"q": each.email}).context["cl"].result_list)
        for each in (member, friend, outsider)
    ]

    assert rows == [[referral], [referral], []]
