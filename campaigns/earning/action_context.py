"""What rules look at: one action and its member, as plain values that a replay can make up as well.

They are named tuples, because a replay makes millions of them: a frozen dataclass takes six times as long.
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
    """A product that was scanned, or a line of an order; `price` is one piece's."""

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
    """Where it happened. `country_at` names the country of coordinates; it is asked when a rule wants to know."""

    city: str = ""
    region: str = ""
    latitude: float | None = None
    longitude: float | None = None
    country_at: Callable[[float, float], str] = _unknown_country

    @property
    def country(self) -> str:
        """As two letters; empty where nothing tells."""
        if self.latitude is None or self.longitude is None:
            return ""
        return self.country_at(self.latitude, self.longitude)


class ScanBase(NamedTuple):
    """What the four rules of a scan decide by, beside the level."""

    redeem_point_value: int | Decimal | None
    retail_price: Decimal | None
    ceiling: int


class History(NamedTuple):
    """What a member did before: how often this kind of action, and when anything earned last. None: nobody asked."""

    earlier: int | None = None
    last_at: datetime | None = None


NOWHERE, NO_HISTORY = Place(), History()
NO_SEGMENTS: frozenset[int] = frozenset()


class ActionContext(NamedTuple):
    """An action as rules see it. `amount` is its money in the brand's currency, after discounts; `subtotal` before.

    `base`: of a scan, what its level pays by. `fixed_points`: of a milestone. What
    comes after `payload` is the member's, known once the snapshot is read: see `of_member`.
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
    segments: frozenset[int] = NO_SEGMENTS  # that the member is in, where a rule asks

    def of_member(
        self,
        *,
        zone: ZoneInfo,
        level: Level | None,
        levels: Sequence[Level],
        history: History,
        segments: frozenset[int] = NO_SEGMENTS,
    ) -> "ActionContext":
        """The same action, of a member."""
        local = self.happened_at.astimezone(zone)
        return ActionContext._make((*self[:IS_MEMBERS], local, level, levels, history, segments))

    def in_catalogue(self, products: Sequence[Item]) -> "ActionContext":
        """The same action, whose items say what the brand's products say of them."""
        by_id = {each.product_id: each for each in products}
        by_sku = {each.sku: each for each in products}
        items = []
        for item in self.items:
            known = by_id.get(item.product_id) or by_sku.get(item.sku)
            items.append(known._replace(quantity=item.quantity, price=item.price) if known else item)
        return self._replace(items=tuple(items))

    def later(self, number: int) -> "ActionContext":
        """The same action once more, after `number` others that it brought itself."""
        if not number or self.history.earlier is None:
            return self
        return self._replace(history=self.history._replace(earlier=self.history.earlier + number))

    def only(self, item: Item) -> "ActionContext":
        """The action as if it were about this item alone."""
        return self._replace(items=(item,))


IS_MEMBERS = ActionContext._fields.index("local")  # from here on an action's context says what the member's is
