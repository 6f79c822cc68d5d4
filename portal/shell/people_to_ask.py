"""The contacts for users who may not see a page, or do not find it: the owners of their brands."""

from typing import Any

from brands.identity.roles import staff_roles
from brands.models.people import StaffRole

MAX_NAMES = 3


def names(user: Any) -> list[str]:
    """Names and addresses, of the selected brand or of all the user's brands. Excludes the user."""
    if not user.is_active or not user.is_staff or user.is_superuser:
        return []
    chosen = getattr(user, "chosen_brand_id", None)
    brand_ids = {it.brand_id for it in staff_roles(user) if chosen in {None, it.brand_id}}
    owners = StaffRole.objects.filter(brand__in=brand_ids, role=StaffRole.Role.OWNER, user__is_active=True)
    rows = owners.exclude(user=user.pk).select_related("user").order_by("user__email")[:MAX_NAMES]
    return list(dict.fromkeys(name_and_address(row.user.get_full_name(), row.user.email) for row in rows))


def name_and_address(name: str, email: str) -> str:
    return f"{name} ({email})" if name else email
