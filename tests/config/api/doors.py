"""Which doors meet which rows, where it is not a door's own code that reads what a row sends.

Bodies, tokens and keys are read by a few classes, the same behind all doors. So a door of each kind meets every row,
and each of the others some rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.urls import resolve

from tests.support.api import PREFIX
from tests.support.endpoints import ENDPOINTS, Scenario

# Of each way to read requests, and of each way to ask who calls, one door.
MEET_ALL_ROWS = {
    "log_in",
    "change_profile",
    "list_transactions",
    "credit_action",
    "ingest_event",
    "enrol_member",
    "verify_product",
    "scan_code",
    "validate_code",
    "list_qr_codes",
    "list_products",
    "create_batch",
    "upload_import",
}
ROWS_OF_EACH = 3


def doors_for(row: Any, rows: Iterable[Any], doors: Sequence[str]) -> list[str]:
    """Those of `doors` that meet `row`: so many that each of them meets three of `rows` at least."""
    listed = list(rows)
    shares = max(len(listed) // ROWS_OF_EACH, 1)
    turn = listed.index(row) % shares
    return [door for place, door in enumerate(doors) if door in MEET_ALL_ROWS or place % shares == turn]


def way_of(name: str, scenario: Scenario) -> tuple[tuple[type, ...], ...]:
    """The classes that read a door's requests and say who calls."""
    address = ENDPOINTS[name].address(scenario).partition("?")[0]
    view: Any = resolve(address if address.startswith("/") else PREFIX + address).func
    classes = [view.cls.parser_classes, view.cls.authentication_classes, view.cls.permission_classes]
    return tuple(tuple(each) for each in [*classes, view.cls.renderer_classes, [view.cls.content_negotiation_class]])
