"""The Undo button on a member's page, after a note was deleted or a redemption code used."""

from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from brands.identity.roles import USE, VIEW
from brands.models.undo_offers import UndoOffer
from core.errors import Invalid
from loyalty.admin.member_page import notes
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards import cancellation
from portal.base.audit_mixin import audit_context
from portal.base.tenant_scope import staff_user
from portal.undo.offers import UNDONE_REASON, UndoKind


def restore_note(request: HttpRequest, offer: UndoOffer) -> None:
    """Restore the note, unless the member's data was erased."""
    note = offer.arguments
    member = UserPoints.objects.get(pk=note["account"], brand=offer.brand_id)
    at = datetime.fromisoformat(note["created_at"])
    if not notes.write(member, author=staff_user(request), text=note["text"], at=at):
        raise Invalid(_("The note is not saved, because the member's data was erased."))


def restore_used_code(request: HttpRequest, offer: UndoOffer) -> None:
    redemption = Redemption.objects.select_related("brand").get(
        pk=offer.arguments["redemption"],
        brand=offer.brand_id,
        used_by=staff_user(request),
        used_request=offer.arguments["request"],
    )
    cancellation.undo_use(redemption=redemption, audit_context=audit_context(request, UNDONE_REASON))


NOTE = UndoKind("loyalty.userpoints", VIEW, restore_note)
REDEMPTION = UndoKind("loyalty.redemption", USE, restore_used_code)
