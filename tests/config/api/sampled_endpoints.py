"""Which endpoints are tried with which rows of hostile input.

A few classes, which all endpoints share, read bodies, tokens and keys. One endpoint for each combination of them is
tried with every row, the other endpoints with some.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.urls import resolve

from tests.support.api import PREFIX
from tests.support.endpoints import ENDPOINTS, Scenario

# One endpoint for each combination of parsers, authenticators, permissions and renderers.
TRIED_WITH_ALL_ROWS = {
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
MIN_ROWS_PER_ENDPOINT = 3


def endpoints_for(row: Any, rows: Iterable[Any], names: Sequence[str]) -> list[str]:
    """The endpoints to try with `row`: each of `names` is tried with at least MIN_ROWS_PER_ENDPOINT of `rows`."""
    listed = list(rows)
    groups = max(len(listed) // MIN_ROWS_PER_ENDPOINT, 1)
    group = listed.index(row) % groups
    return [name for position, name in enumerate(names) if name in TRIED_WITH_ALL_ROWS or position % groups == group]


def handling_classes(name: str, scenario: Scenario) -> tuple[tuple[type, ...], ...]:
    """The classes that parse, authenticate, authorise and render an endpoint's requests."""
    address = ENDPOINTS[name].address(scenario).partition("?")[0]
    view: Any = resolve(address if address.startswith("/") else PREFIX + address).func
    classes = [view.cls.parser_classes, view.cls.authentication_classes, view.cls.permission_classes]
    return tuple(tuple(each) for each in [*classes, view.cls.renderer_classes, [view.cls.content_negotiation_class]])
