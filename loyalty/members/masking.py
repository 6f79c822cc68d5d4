"""Masks a person's name and e-mail address: enough for "is this you?", too little to find them."""

from typing import Any

from brands.identity.roles import VIEW, brand_scope
from core.texts import DOTS, masked_mail
from loyalty.models.accounts import UserPoints


def masked(member: UserPoints) -> str:
    """`A••• L•••, a•••@example.com`: the initials, where there are names, and the address's first letter and host."""
    names = " ".join(f"{name[0]}{DOTS}" for name in member.names if name)
    address = masked_mail(member.user.email)
    return f"{names}, {address}" if names else address


def sees_members(viewer: Any, brand_id: int) -> bool:
    """Whether `viewer`, a user of the portal, may see the brand's members: the permission of the list of members."""
    return brand_id in brand_scope(viewer, VIEW, "loyalty.userpoints")


def displayed_to(viewer: Any, member: UserPoints) -> str:
    """The member as `viewer` may see them: the address for staff who may view members, else masked."""
    return str(member.user) if sees_members(viewer, member.brand_id) else masked(member)
