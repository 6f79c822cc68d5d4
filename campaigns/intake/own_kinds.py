"""Events of a brand's own kinds: finds the registered kind and validates the payload against its fields."""

from collections.abc import Callable, Collection
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from brands.models.tenants import Brand
from campaigns.models.event_kinds import EventKind, EventKindField
from core import moments
from core.api.inputs import Input, SwitchField, one_line

MAX_TEXT = 500
MAX_NUMBER = 10**12
Type = EventKindField.Type


def registered(brand: Brand, name: str) -> EventKind | None:
    """The brand's active kind of this name."""
    rows = EventKind.objects.filter(brand=brand, name=name, is_active=True)
    return rows.select_related("brand").prefetch_related("fields").first()


def names(brand_ids: Collection[int] | None = None) -> list[str]:
    """The names of own kinds at these brands, or at all."""
    rows = EventKind.objects.all() if brand_ids is None else EventKind.objects.filter(brand__in=brand_ids)
    return list(rows.order_by("name").values_list("name", flat=True).distinct())


def parse(payload: Any, kind: EventKind) -> dict[str, Any]:
    """The payload's registered fields, products as IDs; drops all others. Raises DRF's ValidationError."""
    result: dict[str, Any] = OwnPayload(kind).run_validation(payload)
    return {name: value for name, value in result.items() if value is not None}


class DayInput(serializers.Field[str, str, str, Any]):
    """A day as YYYY-MM-DD."""

    def to_internal_value(self, data: Any) -> str:
        try:
            if not moments.is_within(moments.parse_day(data)):
                raise ValueError
        except ValueError:
            message = _("Send a day as YYYY-MM-DD, such as 2026-12-31.")
            raise serializers.ValidationError(message) from None
        return str(data)


class TimeInput(serializers.Field[str, str, str, Any]):
    """A time of day as HH:MM."""

    def to_internal_value(self, data: Any) -> str:
        try:
            moments.parse_time(data)
            return str(data)
        except ValueError:
            raise serializers.ValidationError(_("Send a time as HH:MM, such as 18:00.")) from None


class ProductInput(serializers.Field[int, Any, int, Any]):
    """One of the brand's products, by ID or SKU; converted to its ID."""

    def __init__(self, brand: Any, **options: Any) -> None:
        super().__init__(**options)
        self.products = brand.products  # rows of a higher app, reached through the brand

    def to_internal_value(self, data: Any) -> int:
        is_id = isinstance(data, int) and not isinstance(data, bool) and 0 < data < 2**63
        is_sku = isinstance(data, str) and 0 < len(data) <= 64 and data.isprintable()
        if not is_id and not is_sku:
            raise serializers.ValidationError(_("Send a product's id as a number, or its SKU as a text."))
        rows = self.products.filter(pk=data) if is_id else self.products.filter(sku=data)
        product: int | None = rows.values_list("pk", flat=True).first()
        if product is None:
            message = _("The brand has no product %(product)s.")
            raise serializers.ValidationError(message % {"product": data})
        return product


INPUTS: dict[str, Callable[[EventKindField, dict[str, Any]], Any]] = {
    Type.TEXT: lambda _row, options: serializers.CharField(max_length=MAX_TEXT, validators=[one_line], **options),
    Type.WHOLE: lambda _row, options: serializers.IntegerField(min_value=-MAX_NUMBER, max_value=MAX_NUMBER, **options),
    Type.DECIMAL: lambda _row, options: serializers.DecimalField(
        max_digits=16, decimal_places=4, min_value=-MAX_NUMBER, max_value=MAX_NUMBER, **options
    ),
    Type.SWITCH: lambda _row, options: SwitchField(**options),
    Type.DATE: lambda _row, options: DayInput(**options),
    Type.TIME: lambda _row, options: TimeInput(**options),
    Type.PRODUCT: lambda row, options: ProductInput(row.kind.brand, **options),
    Type.OPTION: lambda row, options: serializers.ChoiceField(choices=row.options, **options),
}


class OwnPayload(Input):
    """A payload with the fields of its kind."""

    def __init__(self, kind: EventKind) -> None:
        super().__init__()
        self.kind = kind

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        result = {}
        for row in self.kind.fields.all():
            row.kind = self.kind
            result[row.name] = INPUTS[row.type](row, {"required": row.required, "allow_null": not row.required})
        return result
