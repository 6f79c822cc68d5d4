"""What other apps carry over in a merge, as settings.ACCOUNT_MERGES names it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Sides:
    """The two members of a merge at a brand, by their users."""

    brand_id: int
    target: int
    source: int


@dataclass(frozen=True, slots=True)
class Part:
    """`merge` carries over and returns what its undo needs to know, as JSON; `preview` says in sentences what it would.

    `undo_error`: why what was carried over cannot go back; None if it can. All but `preview` are called with both
    accounts locked.
    """

    preview: Callable[[Sides], list[str]]
    merge: Callable[[Sides, datetime], list[dict[str, Any]]]
    undo_error: Callable[[Sides, list[dict[str, Any]]], str | None]
    undo: Callable[[Sides, list[dict[str, Any]], datetime], None]


def parts() -> Iterator[tuple[str, Part]]:
    return ((name, resolve_name(path)) for name, path in settings.ACCOUNT_MERGES.items())
