"""Offers to undo a recent action: the only code that creates, uses and rejects them.

The user who acted may use the offer once, within MINUTES, while their role still allows it. Each kind defines its
own undo: settings.UNDO_KINDS names them, and each calls the regular code that reverses such an action.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pkgutil import resolve_name
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.identity.roles import brand_scope
from brands.models.audit import AuditLogEntry
from brands.models.undo_offers import UndoOffer
from core.errors import Invalid
from core.numbers import format_number
from portal.base.tenant_scope import staff_user

MINUTES = 10
UNDONE_REASON = gettext_noop("Undone by the person who did it.")  # in histories
TAG = "undo-"  # before the id of an offer in a message's tags

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UndoKind:
    """`act(request, offer)` undoes the action, in the transaction that uses the offer. It raises DomainError if it
    cannot.

    The user must be allowed one of `verbs` on the model `label` in the offer's brand.
    """

    label: str
    verbs: str
    act: Callable[[HttpRequest, UndoOffer], None]


def kind_of(name: str) -> UndoKind:
    result: UndoKind = resolve_name(settings.UNDO_KINDS[name])
    return result


def offer(
    request: HttpRequest, kind: str, *, brand_id: int, arguments: Arguments, customer_id: int | None = None
) -> str:
    """Create an offer for the current user. Returns the tags for the success message.

    `customer_id`: the person whose data is in the arguments, if they contain more than ids.
    """
    made = UndoOffer.objects.create(
        brand_id=brand_id,
        user=staff_user(request),
        customer_id=customer_id,
        kind=kind,
        arguments=dict(arguments),
        expires_at=timezone.now() + timedelta(minutes=MINUTES),
    )
    return f"{TAG}{made.pk}"


def report_with_undo(
    request: HttpRequest,
    text: Any,
    kind: str,
    *,
    brand_id: int,
    arguments: Arguments,
    customer_id: int | None = None,
) -> None:
    """Show a success message with an offer to undo the action."""
    tags = offer(request, kind, brand_id=brand_id, arguments=arguments, customer_id=customer_id)
    messages.success(request, text, extra_tags=tags)


def report_rows_with_undo(
    request: HttpRequest, what: Any, kind: str, rows: Sequence[Any], describe: Callable[[list[Any]], Arguments]
) -> None:
    """Report how many rows were changed, with an undo if they are one brand's. `describe`: arguments from their ids."""
    text, brands = f"{what}: {format_number(len(rows))}", {row.brand_id for row in rows}
    if len(brands) == 1:
        report_with_undo(request, text, kind, brand_id=brands.pop(), arguments=describe([row.pk for row in rows]))
    else:
        messages.info(request, text)


def take(request: HttpRequest, key: UUID) -> None:
    """Use an offer. Concurrent calls with the same offer run one after the other, and the second finds none.

    Raises DomainError.
    """
    with transaction.atomic():
        taken = (
            UndoOffer.objects.select_for_update()
            .filter(pk=key, user=staff_user(request), expires_at__gt=timezone.now())
            .first()
        )
        if taken is None or taken.kind not in settings.UNDO_KINDS:
            raise ended_error()
        kind = kind_of(taken.kind)
        if taken.brand_id not in brand_scope(request.user, kind.verbs, kind.label):
            raise Invalid(_("Nothing was undone: your role no longer allows it, or another brand is selected."))
        try:
            kind.act(request, taken)
        except (Http404, ObjectDoesNotExist, PermissionDenied):
            raise ended_error() from None
        taken.delete()


def changed_since(offer: UndoOffer, pks: Iterable[int]) -> set[int]:
    """The rows of the kind's model that other users have changed since the offer, according to the audit log."""
    entries = AuditLogEntry.objects.filter(
        kind=kind_of(offer.kind).label, row_id__in=[str(pk) for pk in pks], at__gt=offer.created_at
    ).exclude(user=offer.user_id)
    return {int(row_id) for row_id in entries.values_list("row_id", flat=True)}


def changed_since_error() -> Invalid:
    return Invalid(_("Nothing was undone: somebody has changed it in the meantime."))


def ended_error() -> Invalid:
    text = _("This can no longer be undone here: it was undone already, or more than %(minutes)d minutes have passed.")
    return Invalid(text % {"minutes": MINUTES})
