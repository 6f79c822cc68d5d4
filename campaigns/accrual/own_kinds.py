"""Handles events of a brand's own kinds: credits what its rules give for them, once for each event."""

import uuid

from django.utils import timezone
from django.utils.translation import gettext_noop

from campaigns.accrual.accrue import ACCRUAL_ERRORS, accrue
from campaigns.accrual.merged_members import for_current_member
from campaigns.accrual.types import AccrualReason, AccrualRequest, QualifyingAction
from campaigns.earning.action_context import ActionContext
from campaigns.models.event_kinds import EventKind
from core.errors import raises
from events import leases
from events.messages import EVENT_ID_NAMESPACE, LeasedEvent
from events.models import Event
from loyalty.points import ledger

CAMPAIGN_TYPE = "own"  # no campaign has this type


@raises(*ACCRUAL_ERRORS)
@for_current_member
def on_own_kind(event: LeasedEvent) -> None:
    """Credit what the rules give. A kind that was switched off in the meantime earns nothing."""
    kind = EventKind.objects.filter(brand=event.brand_id, name=event.kind, is_active=True).first()
    if kind is None:
        leases.finish(event, status=Event.Status.IGNORED)
        return
    action = QualifyingAction(
        brand_id=event.brand_id,
        user_id=event.arguments["user_id"],
        campaign_type=CAMPAIGN_TYPE,
        reasons=[reason_of(event, kind)],
        context=ActionContext(kind=event.kind, happened_at=event.time, payload=event.payload),
        at=timezone.now(),
    )
    accrue(AccrualRequest(event, action))


def reason_of(event: LeasedEvent, kind: EventKind) -> AccrualReason:
    names = {language: {"event": texts["title"]} for language, texts in kind.translations.items()}
    note = gettext_noop("Points for: %(event)s") % {"event": kind.title}
    return AccrualReason(reason_id=reason_id_of(event), note=note, names=names)


def reason_id_of(event: LeasedEvent) -> str:
    """The same ID whenever the event comes again, even after its row was deleted; different for each source."""
    source = Event.objects.values_list("source", flat=True).get(pk=event.id)
    return reason_id_by(event.kind, f"{source}:{event.event_id}")


def reason_id_by(kind: str, identity: str) -> str:
    """`identity`: the event's source and its ID there."""
    return f"{ledger.OWN_EVENT}{kind}:{uuid.uuid5(EVENT_ID_NAMESPACE, identity)}"
