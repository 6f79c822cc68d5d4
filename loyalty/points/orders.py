"""Orders: their value for points, and their customer. The only code that writes CreditedOrder."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core.db.statements import query_values
from core.json_values import ENCODER
from loyalty.errors import CurrencyNotAccepted, OrderOfAnother
from loyalty.models.orders import CreditedOrder, CurrencyRate, OrderReturn

ZERO = Decimal(0)

HOLD_ORDER = query_values("loyalty/points/sql/hold_order.sql", "user_id")


@dataclass(frozen=True, slots=True)
class Order:
    """An order as a shop reported it."""

    order_id: str
    basis: Decimal  # subtotal minus discount, in `currency`
    currency: str  # empty: the brand's own currency
    items: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, payload: dict[str, Any]) -> "Order":
        """Parse the payload of `order-complete` (spec section 6)."""
        order = payload["order"]
        basis = max(ZERO, Decimal(str(order["subtotal"])) - Decimal(str(order.get("discount") or 0)))
        return cls(order["orderId"], basis, order.get("currency") or "", tuple(order.get("items") or ()))

    @property
    def reason_id(self) -> str:
        return f"order:{self.order_id}"


def amount(order: Order, *, brand_id: int) -> Decimal:
    """The amount paid for goods, in the brand's currency. Raises CurrencyNotAccepted."""
    own = Brand.objects.values_list("currency", flat=True).get(pk=brand_id)
    rates = CurrencyRate.objects.filter(brand_id=brand_id).values_list("rate", flat=True)
    return converted(order, own=own, rate_of=lambda currency: rates.filter(currency=currency).first())


def converted(order: Order, *, own: str, rate_of: Callable[[str], Decimal | None]) -> Decimal:
    """Like `amount`, with the brand's `own` currency and its rates. Raises CurrencyNotAccepted."""
    if order.currency in {"", own}:
        return order.basis
    if stated := rate_of(order.currency):
        return order.basis * stated
    text = _("The brand uses %(own)s and has no rate for %(other)s.")
    message = text % {"own": own, "other": order.currency}
    raise CurrencyNotAccepted(message, details={"currency": order.currency, "accepted": own})


def hold(order: Order, *, brand_id: int, user_id: int, event_id: UUID, at: datetime) -> None:
    """Assign the order to this customer, in the caller's transaction. Raises OrderOfAnother."""
    claimed = HOLD_ORDER.first(
        brand_id=brand_id,
        order_id=order.order_id,
        user_id=user_id,
        amount=order.basis,
        currency=order.currency,
        items=ENCODER.encode(list(order.items)),
        event_id=event_id,
        at=at,
    )
    if claimed is None:
        credited = CreditedOrder.objects.filter(brand_id=brand_id, order_id=order.order_id)
        if credited.exclude(user_id=user_id).exists():
            raise OrderOfAnother


def reassign_to_pseudonym(*, user_id: int, brand_id: int, to: int) -> None:
    """For the erasure of personal data: reassign orders to the pseudonym. They stay credited or returned."""
    CreditedOrder.objects.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)
    OrderReturn.objects.filter(user_id=user_id, brand_id=brand_id).update(user_id=to)
