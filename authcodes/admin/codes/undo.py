"""What the Undo button does after codes were changed or imported."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_noop

from authcodes.codes import bulk_changes, history
from authcodes.codes.bulk_changes import CodeChangeRequest
from authcodes.codes.ranges import resolve_range
from authcodes.imports import commit as imports
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from brands.identity.roles import ACT
from brands.models.undo_offers import UndoOffer
from portal.base.tenant_scope import staff_user
from portal.undo import offers
from portal.undo.offers import UndoKind

Kind = CodeChange.Kind
OPPOSITES = {
    Kind.DEACTIVATED: Kind.REACTIVATED,
    Kind.REACTIVATED: Kind.DEACTIVATED,
    Kind.ASSIGNED: Kind.UNASSIGNED,
}


def reversed_change(offer: UndoOffer) -> CodeChangeRequest:
    """Lock the brand's codes and return the change that undoes this one. Raises DomainError if a code changed since."""
    bulk_changes.lock_code_changes(offer.brand_id, waits=False)
    if history.is_changed_since(UUID(offer.arguments["action"])):
        raise offers.changed_since_error()
    kind = OPPOSITES[Kind(offer.arguments["kind"])]
    return CodeChangeRequest(kind, reason=offers.UNDONE_REASON, retains_points=True)


def change_back(request: HttpRequest, offer: UndoOffer) -> None:
    """Undo a change of single codes."""
    codes = AuthCode.objects.filter(pk__in=offer.arguments["codes"], brand=offer.brand_id)
    bulk_changes.change_codes(
        codes=codes, requested=reversed_change(offer), by=staff_user(request), at=timezone.now(), waits=False
    )


def change_range_back(request: HttpRequest, offer: UndoOffer) -> None:
    batch = BatchRange.objects.get(pk=offer.arguments["batch"], brand=offer.brand_id)
    codes = resolve_range(batch=batch, first=offer.arguments["first"], last=offer.arguments["last"])
    by, at = staff_user(request), timezone.now()
    bulk_changes.change(codes=codes, requested=reversed_change(offer), by=by, at=at, waits=False)


def undo_import(request: HttpRequest, offer: UndoOffer) -> None:
    """Undo a committed import, like the button on its page."""
    upload = Import.objects.get(pk=offer.arguments["import"], brand=offer.brand_id)
    imports.undo(upload=upload, by=staff_user(request), at=timezone.now())
    page: Any = admin.site.get_model_admin(Import)
    page.log_change(request, upload, gettext_noop("The import is being undone."))


CODES = UndoKind("authcodes.authcode", ACT, change_back)
RANGE = UndoKind("authcodes.authcode", ACT, change_range_back)
IMPORT = UndoKind("authcodes.import", ACT, undo_import)
