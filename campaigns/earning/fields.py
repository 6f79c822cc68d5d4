"""The fields that conditions can use: their types, how they are read from an action, and what must be fetched for them.

Others are added by `register`. See own_fields for the fields of a brand's own kinds, and campaigns/segments/fields.py
for those of segments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Any

from django.utils.translation import gettext_lazy as _

from campaigns.earning.action_context import ActionContext
from campaigns.models.earning_rules import EarningRule, is_own_kind

SCAN, ORDER = EarningRule.Kind.SCAN.value, EarningRule.Kind.ORDER.value
PROFILE, MILESTONE = EarningRule.Kind.PROFILE.value, EarningRule.Kind.MILESTONE.value
ABOUT_PRODUCTS = frozenset({SCAN, ORDER})
DAY_OF_ACTION = "day"  # the name of the field; a brand's own fields may be days too


class Type(Enum):
    """How a field's values are compared and entered."""

    IDS = "ids"  # rows of the brand, by their IDs
    TEXTS = "texts"  # the action may have several texts
    NUMBER = "number"
    INTEGER = "whole"  # a whole number, also below 0
    COUNT = "count"  # a whole number
    WEEKDAY = "weekday"  # 1 is Monday
    TIME = "time"
    DAY = "day"
    LEVEL = "level"
    PLACE = "place"  # a circle
    SWITCH = "switch"  # yes or no
    FIELD_OPTION = "option"  # one of the field's `options`
    AGE = "age"  # whole days since something
    WINDOW = "window"  # how often in the last days
    SCORE = "score"  # from 1 to 5
    LABELLED = "options"  # one of a few known values


class Needs(Flag):
    """What a field needs besides the action; read only if a condition uses it."""

    NOTHING = 0
    EARLIER = auto()
    LAST = auto()
    CATALOGUE = auto()  # an order's items as the brand's products describe them
    SEGMENTS = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """`read` returns a tuple if an action may have several values (not `is_single`), otherwise one value or None.

    `choices` names the source of values for a form. `is_anchor`: rules are indexed by it instead of tested one by one.
    `own_too`: the field also applies to the kinds that brands register.
    """

    name: str
    label: Any
    type: Type
    read: Callable[[ActionContext], Any]
    kinds: frozenset[str] | None = None  # None: every kind
    needs: Needs = Needs.NOTHING
    choices: str = ""
    is_anchor: bool = False
    is_single: bool = True
    unit: Any = ""
    options: tuple[str, ...] = ()
    own_too: bool = False

    def is_for(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds or (self.own_too and is_own_kind(kind))


def _one(value: Any) -> tuple[Any, ...]:
    return () if value in {None, ""} else (value,)


def _nth(context: ActionContext) -> int | None:
    return None if context.history.earlier is None else context.history.earlier + 1


def _days_since(context: ActionContext) -> int | None:
    last = context.history.last_at
    return None if last is None else max(0, (context.happened_at - last).days)


def _radius(context: ActionContext) -> tuple[float, float] | None:
    place = context.place
    return None if place.latitude is None or place.longitude is None else (place.latitude, place.longitude)


def _of_items(name: str, label: Any, type_: Type, read: Callable[[ActionContext], Any], choices: str = "") -> Field:
    """A field of the action's items, of which an order has several: they are looked up among the brand's products."""
    return Field(name, label, type_, read, ABOUT_PRODUCTS, Needs.CATALOGUE, choices, is_anchor=True, is_single=False)


FIELDS: dict[str, Field] = {}


def register(*fields: Field) -> None:
    """Add fields that conditions can use."""
    FIELDS.update({field.name: field for field in fields})


register(
    _of_items(
        "product",
        _("product"),
        Type.IDS,
        lambda context: [item.product_id for item in context.items if item.product_id is not None],
        "products",
    ),
    _of_items("sku", _("SKU"), Type.TEXTS, lambda context: [item.sku for item in context.items if item.sku]),
    _of_items(
        "category",
        _("category"),
        Type.TEXTS,
        lambda context: [item.category for item in context.items if item.category],
        "categories",
    ),
    _of_items(
        "tags", _("tag"), Type.TEXTS, lambda context: [tag for item in context.items for tag in item.tags], "tags"
    ),
    Field(
        "batch",
        _("batch"),
        Type.IDS,
        lambda context: _one(context.batch_id),
        frozenset({SCAN}),
        choices="batches",
        is_anchor=True,
    ),
    Field(
        "campaign",
        _("campaign"),
        Type.IDS,
        lambda context: _one(context.campaign_id),
        frozenset({SCAN, MILESTONE}),
        choices="campaigns",
        is_anchor=True,
    ),
    Field("city", _("city"), Type.TEXTS, lambda context: _one(context.place.city), frozenset({SCAN}), is_anchor=True),
    Field(
        "region", _("region"), Type.TEXTS, lambda context: _one(context.place.region), frozenset({SCAN}), is_anchor=True
    ),
    Field(
        "country",
        _("country (two letters)"),
        Type.TEXTS,
        lambda context: _one(context.place.country),
        frozenset({SCAN}),
        is_anchor=True,
    ),
    Field("place", _("place"), Type.PLACE, _radius, frozenset({SCAN})),
    Field(
        "channel",
        _("channel"),
        Type.TEXTS,
        lambda context: _one(context.channel),
        frozenset(EarningRule.Kind.values),
        is_anchor=True,
    ),
    Field("level", _("level"), Type.LEVEL, lambda context: context.level, choices="levels"),
    Field(
        "segment",
        _("segment"),
        Type.IDS,
        lambda context: context.segments,
        needs=Needs.SEGMENTS,
        choices="segments",
        is_single=False,
    ),
    Field(
        "nth",
        _("how many times so far, including this one"),
        Type.COUNT,
        _nth,
        ABOUT_PRODUCTS,
        Needs.EARLIER,
        own_too=True,
    ),
    Field("days_since_last", _("days since points were last earned"), Type.COUNT, _days_since, needs=Needs.LAST),
    Field("subtotal", _("order's subtotal"), Type.NUMBER, lambda context: context.subtotal, frozenset({ORDER})),
    Field(
        "amount", _("order's amount after discounts"), Type.NUMBER, lambda context: context.amount, frozenset({ORDER})
    ),
    Field(
        "item_quantity",
        _("an item's quantity"),
        Type.COUNT,
        lambda context: [item.quantity for item in context.items],
        frozenset({ORDER}),
        is_single=False,
    ),
    Field(
        "item_price",
        _("an item's price"),
        Type.NUMBER,
        lambda context: [item.price for item in context.items if item.price is not None],
        ABOUT_PRODUCTS,
        is_single=False,
    ),
    Field("weekday", _("weekday"), Type.WEEKDAY, lambda context: context.local and context.local.isoweekday()),
    Field(
        "time", _("time of day"), Type.TIME, lambda context: context.local and context.local.time().replace(tzinfo=None)
    ),
    Field(DAY_OF_ACTION, _("day"), Type.DAY, lambda context: context.local and context.local.date()),
    Field(
        "profile_field",
        _("profile field"),
        Type.TEXTS,
        lambda context: _one(context.profile_field),
        frozenset({PROFILE}),
        is_anchor=True,
    ),
)
