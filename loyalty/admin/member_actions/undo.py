"""The Undo button after members were blocked or unblocked."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.identity.roles import ACT
from brands.models.undo_offers import UndoOffer
from loyalty.members import blocking
from loyalty.models.accounts import UserPoints
from portal.undo import offers
from portal.undo.offers import UndoKind

Status = UserPoints.Status
OPPOSITES = {Status.BLOCKED: Status.ACTIVE, Status.ACTIVE: Status.BLOCKED}


def switch_back(request: HttpRequest, offer: UndoOffer) -> None:
    """Skips members whom a colleague has switched in the meantime, and members who were erased."""
    now = Status(offer.arguments["status"])
    accounts = UserPoints.objects.filter(
        pk__in=offer.arguments["accounts"], brand=offer.brand_id, status=now, user__is_active=True
    )
    page: Any = admin.site.get_model_admin(UserPoints)
    locked = list(accounts.order_by("pk").select_for_update(no_key=True, of=("self",)))
    switched_again = offers.changed_since(offer, [account.pk for account in locked])
    rows = [account for account in locked if account.pk not in switched_again]
    page.remember(request, rows)
    changed = blocking.set_status(accounts=rows, status=OPPOSITES[now], at=timezone.now())
    if not changed:
        raise offers.changed_since_error()
    page.record_action(request, changed, gettext_noop("Undone"))


MEMBERS = UndoKind("loyalty.userpoints", ACT, switch_back)
