"""The lists of people and of roles lead to the same form for invitations, and only those who may invite."""

import pytest
from django.urls import reverse

from brands.models.tenants import Brand
from tests.support.portal import address, browser, staff


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["brands.user", "brands.staffrole"])
def test_owners_invite_from_each_list_and_managers_from_none(brand: Brand, label: str) -> None:
    there = f"{address(label)}invite/"

    led = browser(staff(brand)).get(there)
    refused = browser(staff(brand, role="manager")).get(there)

    assert (led.status_code, led["Location"]) == (302, reverse("admin:staff_login_invitation_add"))
    assert refused.status_code == 403
