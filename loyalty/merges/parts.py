"""What other apps carry over in a merge (settings.ACCOUNT_MERGES)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Sides:
    """The user ids of the two members of a merge at a brand."""

    brand_id: int
    target: int
    source: int


@dataclass(frozen=True, slots=True)
class MergePart:
    """`merge` carries rows over and returns JSON data for the undo; `preview` describes it in sentences.

    `undo_error` returns why the rows cannot go back, or None if they can. All but `preview` are called with both
    accounts locked.
    """

    preview: Callable[[Sides], list[str]]
    merge: Callable[[Sides, datetime], list[dict[str, Any]]]
    undo_error: Callable[[Sides, list[dict[str, Any]]], str | None]
    undo: Callable[[Sides, list[dict[str, Any]], datetime], None]


def parts() -> Iterator[tuple[str, MergePart]]:
    return ((name, resolve_name(path)) for name, path in settings.ACCOUNT_MERGES.items())
