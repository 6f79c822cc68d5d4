"""The brand's own kinds of events over HTTP, for the systems that send them: the fields that a payload takes."""

from django.db.models import QuerySet
from rest_framework import serializers

from brands.access.brand_access import BrandAccess
from brands.access.endpoints import BrandView, ModelEndpoints
from campaigns.models.event_kinds import EventKind, EventKindField
from core.api.filters import SwitchFilter, TenantFilterSet
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField

EXAMPLE = {
    "id": 4,
    "name": "store-visit",
    "title": "Store visit",
    "is_active": True,
    "fields": [
        {"name": "store", "label": "Store", "type": "option", "required": True, "options": ["Bern", "Basel"]},
        {"name": "minutes", "label": "Minutes", "type": "whole", "required": False, "options": []},
    ],
    "created_at": WHEN,
}
TYPE_TEXT = (
    "text: up to 500 characters. whole, decimal: JSON numbers. switch: true or false. date: YYYY-MM-DD. time: HH:MM. "
    "product: a product's id as a number, or its SKU as text. option: one of `options`."
)


class EventKindFieldOutput(Output):
    name = serializers.CharField(help_text="The field's name in the payload.")
    label = serializers.CharField()  # type: ignore[assignment]
    type = serializers.ChoiceField(choices=EventKindField.Type.values, help_text=TYPE_TEXT)
    required = serializers.BooleanField()  # type: ignore[assignment]
    options = serializers.ListField(
        child=serializers.CharField(), help_text="Allowed values, for fields of the type `option`."
    )


class EventKindOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField(help_text="The event's `detail-type`.")
    title = serializers.CharField()
    is_active = serializers.BooleanField(
        help_text="If false, events of this kind are stored unchecked and earn nothing."
    )
    fields = EventKindFieldOutput(many=True, source="fields.all")  # type: ignore[assignment]
    created_at = TimestampField()


class EventKindFilter(TenantFilterSet):
    is_active = SwitchFilter(description="Only active kinds, or only inactive ones.")


EVENT_KINDS = ModelEndpoints("campaigns.eventkind", EventKindOutput, EXAMPLE, filters=EventKindFilter)


class EventKinds(BrandView):
    """The brand's own kinds of events."""

    @EVENT_KINDS.list_endpoint("list_event_kinds", "List the brand's own kinds of events")
    def get(self, access: BrandAccess) -> QuerySet[EventKind]:
        """List the kinds that the brand has registered, with the fields of their payloads. Needs the scope `read`.

        `POST /events` accepts events of these kinds and validates their payloads; earning rules can reward them.
        """
        return EventKind.objects.filter(brand=access.brand_id).prefetch_related("fields")


class EventKindRow(BrandView):
    """One of the brand's own kinds of events."""

    @EVENT_KINDS.row_endpoint("read_event_kind", "Read one of the brand's own kinds of events")
    def get(self, access: BrandAccess, kind_id: int) -> QuerySet[EventKind]:
        """Return a kind with the fields of its payload. Needs the scope `read`."""
        return EventKind.objects.filter(brand=access.brand_id, pk=kind_id)
