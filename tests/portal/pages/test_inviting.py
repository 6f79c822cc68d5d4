"""The lists of users and of roles lead to the same form for invitations, and only for those who may invite."""

import pytest
from django.urls import reverse

from brands.models.tenants import Brand
from tests.support.portal import address, browser, links, staff, text


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["brands.user", "brands.staffrole"])
def test_owners_can_invite_from_both_lists_and_managers_from_neither(brand: Brand, label: str) -> None:
    invite_url = f"{address(label)}invite/"
    owner, manager = (browser(staff(brand, role=role)) for role in ("owner", "manager"))

    owner_response, manager_response = owner.get(invite_url), manager.get(invite_url)

    assert (owner_response.status_code, owner_response["Location"]) == (
        302,
        reverse("admin:staff_login_invitation_add"),
    )
    assert manager_response.status_code == 403
    assert invite_url in links(text(owner.get(address(label))))
    assert invite_url not in links(text(manager.get(address(label))))
