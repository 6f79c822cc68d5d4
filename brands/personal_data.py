"""What brands know of a person beside the account: that they were invited to work there."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from brands.models.people import User
from brands.staff_login import invitations
from brands.staff_login.models import Invitation
from core.db import row_guard
from core.personal_data import Topic


def export_invitations(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """As JSON: when the brand invited the person to work for it, as what, and what became of it."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    with row_guard.brand_wide("an invitation names an address, and no customer"):
        return [
            {"role": row.role, "invited_at": row.created_at.isoformat(), "state": row.state(at=timezone.now()).value}
            for row in Invitation.objects.filter(brand=brand_id, email=email).order_by("id")
        ]


def erase_invitations(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    """Call before the person's own e-mail address is taken away."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    invitations.forget_address(brand_id=brand_id, email=email)


INVITATIONS = Topic(export_invitations, erase_invitations)
