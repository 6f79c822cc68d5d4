"""The lists of users and of roles lead to the same form for invitations, and only for those who may invite."""

import pytest
from django.urls import reverse

from brands.models.tenants import Brand
from tests.support.portal import address, browser, staff


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["brands.user", "brands.staffrole"])
def test_owners_can_invite_from_both_lists_and_managers_from_neither(brand: Brand, label: str) -> None:
    invite_url = f"{address(label)}invite/"

    owner_response = browser(staff(brand)).get(invite_url)
    manager_response = browser(staff(brand, role="manager")).get(invite_url)

    assert (owner_response.status_code, owner_response["Location"]) == (
        302,
        reverse("admin:staff_login_invitation_add"),
    )
    assert manager_response.status_code == 403
