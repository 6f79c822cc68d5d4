"""The fields of events of a brand's own kinds, which conditions can use: their payload, by the brand's schema."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from typing import Any

from campaigns.earning.action_context import ActionContext
from campaigns.earning.fields import Field, Type
from campaigns.models.earning_rules import EarningRule, is_own_kind
from campaigns.models.event_kinds import EventKindField

PREFIX = "payload."
FieldType = EventKindField.Type
OwnFields = Mapping[str, Mapping[str, Field]]  # by kind and name
NO_FIELDS: OwnFields = {}


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


# How a payload's value is compared, and how it is read from JSON. Payloads are validated when they arrive; a stored
# value of another type counts as missing.
_TYPES: dict[str, tuple[Type, Callable[[Any], Any]]] = {
    FieldType.TEXT: (Type.TEXTS, str),
    FieldType.WHOLE: (Type.INTEGER, int),
    FieldType.DECIMAL: (Type.NUMBER, lambda value: Decimal(str(value))),
    FieldType.SWITCH: (Type.SWITCH, _switch),
    FieldType.DATE: (Type.DAY, date.fromisoformat),
    FieldType.TIME: (Type.TIME, time.fromisoformat),
    FieldType.PRODUCT: (Type.IDS, int),
    FieldType.OPTION: (Type.FIELD_OPTION, str),
}
_LISTED = {Type.TEXTS, Type.IDS, Type.FIELD_OPTION}  # these comparisons expect several values


def _reader(name: str, type_: Type, convert: Callable[[Any], Any]) -> Callable[[ActionContext], Any]:
    def one(context: ActionContext) -> Any:
        value = context.payload.get(name)
        if value is None:
            return None
        with suppress(ValueError, TypeError, ArithmeticError):
            return convert(value)
        return None

    def several(context: ActionContext) -> tuple[Any, ...]:
        value = one(context)
        return () if value is None else (value,)

    return several if type_ in _LISTED else one


def field_of(row: EventKindField, *, kind: str) -> Field:
    """A field of the kind's payload, as conditions compare it."""
    type_, convert = _TYPES[row.type]
    return Field(
        name=f"{PREFIX}{row.name}",
        label=row.label,
        type=type_,
        read=_reader(row.name, type_, convert),
        kinds=frozenset({kind}),
        choices="products" if row.type == FieldType.PRODUCT else "",
        options=tuple(row.options),
    )


def of_kinds(brand_id: int, kinds: Iterable[str]) -> OwnFields:
    """The fields of a brand's own kinds. Runs one statement, or none if all kinds are the service's."""
    own = sorted({kind for kind in kinds if is_own_kind(kind)})
    if not own:
        return NO_FIELDS
    result: defaultdict[str, dict[str, Field]] = defaultdict(dict)
    rows = EventKindField.objects.filter(kind__brand=brand_id, kind__name__in=own)
    for row in rows.select_related("kind").order_by("pk"):
        field = field_of(row, kind=row.kind.name)
        result[row.kind.name][field.name] = field
    return dict(result)


def of_rule(rule: EarningRule) -> Mapping[str, Field]:
    """The fields that only this rule's kind has."""
    return of_kinds(rule.brand_id, [rule.kind]).get(rule.kind, {}) if rule.brand_id else {}
