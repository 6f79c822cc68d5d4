"""What is held about a person at a brand, handed out whole: by every module that settings.PERSONAL_DATA names.

A table joins by a module with `export(user_id, brand_id)`, which returns JSON or an iterator of rows, and `erase`, and
a line in that setting.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from brands.models.people import User
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import CreditedOrder
from loyalty.models.rewards import Redemption
from loyalty.points import accounts, orders

ENCODER = DjangoJSONEncoder()
ROWS_AT_A_TIME = 500


def parts(*, user_id: int, brand_id: int) -> Iterator[str]:
    """What each module holds, by its name in the setting, as JSON in parts: row by row, never whole in memory."""
    yield "{"
    for number, (name, path) in enumerate(settings.PERSONAL_DATA.items()):
        yield f"{', ' if number else ''}{ENCODER.encode(name)}: "
        yield from as_json(import_string(f"{path}.export")(user_id, brand_id))
    yield "}"


def as_json(value: Any) -> Iterator[str]:
    """JSON in parts, in which an iterator is an array whose members are asked for one at a time."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, held) in enumerate(value.items()):
            yield f"{', ' if number else ''}{ENCODER.encode(name)}: "
            yield from as_json(held)
        yield "}"
    elif isinstance(value, Iterator):
        yield "["
        for number, row in enumerate(value):
            yield f"{', ' if number else ''}{ENCODER.encode(row)}"
        yield "]"
    else:
        yield ENCODER.encode(value)


def rows(found: QuerySet[Any, Any]) -> Iterator[Any]:
    """The rows of a query, of which a few hundred at a time are in memory."""
    return found.iterator(chunk_size=ROWS_AT_A_TIME)


def export(user_id: int, brand_id: int) -> dict[str, Any]:
    """The person, the account at the brand, its ledger, orders and rewards."""
    at_brand = {"user_id": user_id, "brand_id": brand_id}
    here = {"user_point__user_id": user_id, "user_point__brand_id": brand_id}
    # Not when they registered, logged in or confirmed their address: that may have been at another brand.
    person = User.objects.values("email", "first_name", "last_name")
    account = UserPoints.objects.filter(**at_brand).values(
        "points",
        "points_earned",
        "points_redeemed",
        "points_expired",
        "current_level",
        "status",
        "enrolled_at",
        "first_name",
        "last_name",
    )
    lines = LoyaltyTransaction.objects.filter(**here).values(
        "created_at", "reason", "reason_id", "points_earned", "points_redeemed", "points_expired", "note"
    )
    bought = CreditedOrder.objects.filter(**at_brand).order_by("id")
    taken = Redemption.objects.filter(**here)
    return {
        "person": person.get(pk=user_id),
        "account": account.first(),
        "transactions": rows(lines),
        "orders": rows(bought.values("order_id", "credited_at")),
        "redemptions": rows(taken.values("name", "cost", "code", "status", "created_at", "used_at", "cancelled_at")),
    }


def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """The account, with its ledger, orders and redemptions, is the pseudonym's, and closed."""
    confirmations.forget_person(user_id, brand_id)
    orders.reassign_to_pseudonym(user_id=user_id, brand_id=brand_id, to=to)
    accounts.reassign_to_pseudonym(user_id=user_id, brand_id=brand_id, to=to, at=at)
