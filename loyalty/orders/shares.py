"""Which share of an order a return is, in money and in points. Pure functions without I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.json_values import json_number
from loyalty.errors import ReturnExceedsOrder

ZERO = Decimal(0)
CENT = Decimal("0.01")
WHOLE = Decimal(1)

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReturnRequest:
    """What a shop says is returned: `amount` in the order's currency, or `items`. With neither: all that is left."""

    amount: Decimal | None = None
    items: tuple[Item, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.amount is None and not self.items


@dataclass(frozen=True, slots=True)
class ReturnedBefore:
    """The sums of earlier returns of the order, in its currency and in points, and the `items` they named."""

    amount: Decimal = ZERO
    points: Decimal = ZERO
    items: tuple[Item, ...] = ()
    is_complete: bool = False


def amount_returned(
    request: ReturnRequest, *, paid: Decimal | None, items: Sequence[Item], before: ReturnedBefore
) -> Decimal:
    """How much of `paid` the request returns. Raises ReturnExceedsOrder, which says what is left.

    Items count at their share of the discounted order. An order whose amount is not known can only be returned as a
    whole.
    """
    left = (paid or ZERO) - before.amount
    if before.is_complete:
        raise ReturnExceedsOrder(_("The whole order has already been returned."), details={"left": 0})
    if request.is_whole:
        return left
    if paid is None:
        message = _("The amount of this order is not known. Return it as a whole.")
        raise ReturnExceedsOrder(message, details={"field": "amount"})
    amount = request.amount if request.amount is not None else cost_of(request.items, paid, items, before)
    if amount > left:
        message = _("Only %(left)s of this order are left to return.") % {"left": left}
        raise ReturnExceedsOrder(message, details={"field": "amount", "left": json_number(left)})
    return amount


def cost_of(returned: Sequence[Item], paid: Decimal, bought: Sequence[Item], before: ReturnedBefore) -> Decimal:
    """The returned items' share of `paid` by their prices; nothing if no item had a price."""
    total = sum((worth_of(item) for item in bought), ZERO)
    reject_more_than_bought(returned, bought, before)
    cost = ZERO
    for lines, quantity in quantities(returned, bought).items():
        worth = sum((worth_of(bought[line]) for line in lines), ZERO)
        cost += worth * quantity / owned(lines, bought)
    if not total:
        return ZERO
    return min((cost * paid / total).quantize(CENT, rounding=ROUND_HALF_UP), paid - before.amount)


def reject_more_than_bought(returned: Sequence[Item], bought: Sequence[Item], before: ReturnedBefore) -> None:
    """Raises ReturnExceedsOrder if any lines of the order would be returned more often than they were bought.

    A product's id may name several lines, each with its own SKU: all items that name some of these lines count.
    """
    gone, requested = quantities(before.items, bought), quantities(returned, bought)
    for lines in sorted(requested | gone, key=len):
        left = max(owned(lines, bought) - counted(gone, lines), 0)
        if counted(requested, lines) > left:
            name = next(name_of(item) for item in returned if lines_of(item, bought) <= lines)
            message = ngettext(
                "Only %(left)s of the item %(item)s is left to return.",
                "Only %(left)s of the item %(item)s are left to return.",
                left,
            )
            values = {"left": left, "item": name[1]}
            raise ReturnExceedsOrder(message % values, details={"field": "items", **values})


def owned(lines: frozenset[int], bought: Sequence[Item]) -> int:
    """How many pieces these lines of the order have."""
    return sum(int(bought[line]["quantity"]) for line in lines)


def counted(quantity_by_lines: Mapping[frozenset[int], int], lines: frozenset[int]) -> int:
    """How many of the items name nothing but these lines of the order."""
    return sum(quantity for named, quantity in quantity_by_lines.items() if named <= lines)


def worth_of(item: Item) -> Decimal:
    return Decimal(str(item["unitPrice"])) * int(item["quantity"])


def names_of(item: Item) -> set[tuple[str, str]]:
    """The identifiers by which a return may name an item: its product's id, its SKU."""
    return {(name, str(item[name])) for name in ("productId", "sku") if item.get(name) is not None}


def name_of(item: Item) -> tuple[str, str]:
    """The identifier that counts in a return: the product's id if it has one."""
    return min(names_of(item))


def lines_of(item: Item, bought: Sequence[Item]) -> frozenset[int]:
    """The positions in the order of what a returned item names. Its product's id and its SKU name the same line."""
    name = name_of(item)
    return frozenset(line for line, each in enumerate(bought) if name in names_of(each))


def quantities(items: Sequence[Item], bought: Sequence[Item]) -> dict[frozenset[int], int]:
    """The quantity of returned items by the lines of the order that they name."""
    result: dict[frozenset[int], int] = {}
    for item in items:
        lines = lines_of(item, bought)
        result[lines] = result.get(lines, 0) + int(item["quantity"])
    return result


def points_back(
    *, awarded: Decimal, paid: Decimal | None, returned: Decimal, before: ReturnedBefore, is_last: bool
) -> Decimal:
    """The points that this return reverses. `returned` is the total returned of the order, including this return.

    Proportional, in whole points with halves rounded up. The last return takes the rest of the order's points.
    """
    if is_last or not paid:
        return awarded - before.points if is_last else ZERO
    due = min((awarded * returned / paid).quantize(WHOLE, rounding=ROUND_HALF_UP), awarded)
    return max(due - before.points, ZERO)
