"""What rules evaluate: an action and its member, as plain values that a replay can construct as well.

They are named tuples, because a replay creates millions of them: a frozen dataclass takes six times as long.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from loyalty.points.levels import Level

ZERO = Decimal(0)
NO_PAYLOAD: Mapping[str, Any] = MappingProxyType({})


class Item(NamedTuple):
    """A scanned product, or a line of an order; `price` is per piece."""

    product_id: int | None = None
    sku: str = ""
    category: str = ""
    tags: frozenset[str] = frozenset()
    quantity: int = 1
    price: Decimal | None = None

    @property
    def total(self) -> Decimal:
        return (self.price or ZERO) * self.quantity


def _unknown_country(_latitude: float, _longitude: float) -> str:
    return ""


class Place(NamedTuple):
    """Where the action happened. `country_at` finds the country of coordinates, only when a rule needs it."""

    city: str = ""
    region: str = ""
    latitude: float | None = None
    longitude: float | None = None
    country_at: Callable[[float, float], str] = _unknown_country

    @property
    def country(self) -> str:
        """The two-letter code; empty if unknown."""
        if self.latitude is None or self.longitude is None:
            return ""
        return self.country_at(self.latitude, self.longitude)


class ScanBase(NamedTuple):
    """What the four rules of a scan depend on, besides the level."""

    redeem_point_value: int | Decimal | None
    retail_price: Decimal | None
    ceiling: int


class History(NamedTuple):
    """The member's past: how often this kind of action earned, and when anything earned last; None if not read."""

    earlier: int | None = None
    last_at: datetime | None = None


NOWHERE, NO_HISTORY = Place(), History()
NO_SEGMENTS: frozenset[int] = frozenset()


class ActionContext(NamedTuple):
    """An action as rules see it. `amount` is its money in the brand's currency after discounts, `subtotal` before them.

    `base`: the data that a scan's level pays by. `fixed_points`: what a milestone pays. The fields after `payload` are
    the member's and are set by `of_member` once the snapshot is read.
    """

    kind: str
    happened_at: datetime
    items: Sequence[Item] = ()
    batch_id: int | None = None
    campaign_id: int | None = None
    place: Place = NOWHERE
    channel: str = ""
    profile_field: str = ""
    subtotal: Decimal | None = None
    amount: Decimal | None = None
    base: ScanBase | None = None
    fixed_points: Decimal | None = None
    payload: Mapping[str, Any] = NO_PAYLOAD
    local: datetime | None = None  # `happened_at` by the brand's clock
    level: Level | None = None
    levels: Sequence[Level] = ()
    history: History = NO_HISTORY
    segments: frozenset[int] = NO_SEGMENTS  # the member's segments, read only if a rule needs them

    def of_member(
        self,
        *,
        zone: ZoneInfo,
        level: Level | None,
        levels: Sequence[Level],
        history: History,
        segments: frozenset[int] = NO_SEGMENTS,
    ) -> "ActionContext":
        """The action with the member's data."""
        local = self.happened_at.astimezone(zone)
        return ActionContext._make((*self[:IS_MEMBERS], local, level, levels, history, segments))

    def in_catalogue(self, products: Sequence[Item]) -> "ActionContext":
        """The action with its items as the brand's products describe them."""
        by_id = {each.product_id: each for each in products}
        by_sku = {each.sku: each for each in products}
        items = []
        for item in self.items:
            known = by_id.get(item.product_id) or by_sku.get(item.sku)
            items.append(known._replace(quantity=item.quantity, price=item.price) if known else item)
        return self._replace(items=tuple(items))

    def later(self, number: int) -> "ActionContext":
        """The action as it counts after `number` other reasons of the same action."""
        if not number or self.history.earlier is None:
            return self
        return self._replace(history=self.history._replace(earlier=self.history.earlier + number))

    def only(self, item: Item) -> "ActionContext":
        """The action as if it were only about this item."""
        return self._replace(items=(item,))


IS_MEMBERS = ActionContext._fields.index("local")  # from this field on, the values are the member's
