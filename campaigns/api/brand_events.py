"""The brand's events over HTTP, for its own systems and staff: what they sent, and the results."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from brands.access.brand_access import BrandAccess
from brands.access.endpoints import BrandView, ModelEndpoints
from brands.models.credentials import ApiKey
from campaigns.api.events import EVENT_ID
from core.api.filters import ChoiceFilter, TenantFilterSet, TextFilter, UuidFilter
from core.api.openapi.shared_examples import ORDER, WHEN
from core.api.outputs import Output, TimestampField
from core.errors import Invalid
from events.models import Event

EXAMPLE = {
    "id": 70311,
    "event_id": EVENT_ID,
    "source": "shop.customer-app",
    "kind": "order-complete",
    "user_id": 42,
    "status": "done",
    "attempts": 1,
    "error": None,
    "time": WHEN,
    "created_at": WHEN,
    "finished_at": WHEN,
}
WHOLE = {
    **EXAMPLE,
    "payload": {"type": "order", "order": ORDER},
    "outcome": {"points_awarded": 50, "new_balance": 320},
}
STATUS_TEXT = (
    "pending: queued or being retried. done: processed. refused: rejected by a rule; see `error`. "
    "ignored: no handler for this kind. dead: given up after many failures; staff can retry it in the portal."
)


class BrandEventOutput(Output):
    id = serializers.IntegerField(help_text="The number of the event in this service.")
    event_id = serializers.UUIDField(help_text="The envelope's `id`, which is unique per source.")
    source = serializers.CharField(  # type: ignore[assignment]
        help_text="hub.customer-app and app.customer-app: an action sent to `credit_action`."
    )
    kind = serializers.CharField(source="detail_type", help_text="The envelope's `detail-type`.")
    user_id = serializers.SerializerMethodField(help_text="The customer the event is about.")
    status = serializers.ChoiceField(choices=Event.Status.values, help_text=STATUS_TEXT)
    attempts = serializers.IntegerField()
    error = serializers.SerializerMethodField(
        allow_null=True, help_text="The error code of a rejected event; otherwise null."
    )
    time = TimestampField(help_text="When it happened, according to the sender.")
    created_at = TimestampField(help_text="When we received it.")
    finished_at = TimestampField(allow_null=True)

    def get_user_id(self, event: Event) -> int:
        result: int = event.detail["arguments"]["user_id"]
        return result

    def get_error(self, event: Event) -> str | None:
        outcome = event.outcome or {}
        return outcome.get("error") if event.status == Event.Status.REJECTED else None


class WholeEventOutput(BrandEventOutput):
    payload = serializers.SerializerMethodField(
        help_text="The payload as received, without tokens; of registered kinds only the registered fields."
    )
    outcome = serializers.SerializerMethodField(allow_null=True, help_text="What it credited, or the full error.")

    def get_payload(self, event: Event) -> dict[str, Any]:
        return dict(event.detail.get("payload") or {})

    def get_outcome(self, event: Event) -> dict[str, Any] | None:
        return event.outcome and dict(event.outcome)


class BrandEventFilter(TenantFilterSet):
    """Filters by kind, status, and the sender's own ID."""

    kind = TextFilter(field_name="detail_type", max_length=64, description="Only events of this kind.")
    status = ChoiceFilter(values=Event.Status.values, description="Only events with this status.")
    source = TextFilter(max_length=120, description="The source of the event. Send it together with `event_id`.")
    event_id = UuidFilter(description="Only the event with this id. Send it together with `source`.")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        for values, missing in (("event_id", "source"), ("source", "event_id")):
            if cleaned[values] and not cleaned[missing]:
                text = "An event's id is unique per source: send event_id and source together."
                raise Invalid(text, details={"field": values})
        return super().filter_queryset(queryset)


def events_of(access: BrandAccess) -> QuerySet[Event]:
    """The brand's events, without those that the service publishes itself."""
    return Event.objects.from_outside().filter(brand=access.brand_id)


EVENTS = ModelEndpoints("events.event", BrandEventOutput, EXAMPLE, filters=BrandEventFilter, scope=ApiKey.Scope.EVENTS)
WHOLE_EVENTS = ModelEndpoints("events.event", WholeEventOutput, WHOLE, scope=ApiKey.Scope.EVENTS)


class BrandEvents(BrandView):
    """The events that the brand's systems sent."""

    @EVENTS.list_endpoint("list_events", "List events")
    def get(self, access: BrandAccess) -> QuerySet[Event]:
        """List the events that were sent and their results, newest first. Needs the scope `events`.

        All kinds are listed: those that earn, and the brand's own. Finished events are retained for as long as the
        operator configures.
        """
        return events_of(access)


class BrandEvent(BrandView):
    """One of the events that the brand's systems sent."""

    @WHOLE_EVENTS.row_endpoint("read_event", "Read an event")
    def get(self, access: BrandAccess, event_number: int) -> QuerySet[Event]:
        """Return an event with its payload, and what it credited or why it failed. Needs the scope `events`."""
        return events_of(access).filter(pk=event_number)
