"""Figures with links to the lists behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from core.numbers import rounded
from portal.base.links import admin_address
from portal.shell.navigation import page_of


@dataclass(frozen=True, slots=True)
class Card:
    """A figure. `percent`: the length of its bar; `link`: the list of what it counts, None if no list can show it."""

    title: str
    value: str
    note: str = ""
    percent: float | None = None
    link: str | None = None
    colour: str = "text-primary-600"
    fill: str = "currentColor"


def address(request: HttpRequest, label: str, parameters: Mapping[str, Any]) -> str | None:
    """The address of a list with these filters, or None if it has no such filter: it would reject the address."""
    values = {name: str(value) for name, value in parameters.items() if value not in {None, ""}}
    listed = page_of(label)
    if not all(listed.lookup_allowed(name, value, request) for name, value in values.items()):
        return None
    return f"{admin_address(label, 'changelist')}?{urlencode(values)}"


def number(value: Any) -> str:
    return rounded(value, 0 if round(value, 2) == int(value) else 2)


def percent_of(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
