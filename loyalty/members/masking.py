"""Names a person or an address without telling it: enough to ask "is this you?", too little to look them up."""

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
    """Whether `viewer`, of the brand's staff, may see who its members are; every page of the portal asks this."""
    return brand_id in brand_scope(viewer, VIEW, "loyalty.userpoints")


def displayed_to(viewer: Any, member: UserPoints) -> str:
    """A member as a page shows them to `viewer`: the address for staff who may see members, else masked."""
    return str(member.user) if sees_members(viewer, member.brand_id) else masked(member)
