"""What a brand holds about a person, by topic: the only code that walks all of it, to export or erase it.

settings.PERSONAL_DATA lists the topics in the order of both operations. Each app declares its own in its
`personal_data.py`. A new table needs a topic there and a line in that setting.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Model, QuerySet

from core.json_values import ENCODER

ROWS_AT_A_TIME = 500


class Eraser(Protocol):
    def __call__(self, user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
        """Remove the person from the topic: rows that must stay then belong to the user `to`, a pseudonym."""


@dataclass(frozen=True, slots=True)
class Topic:
    """`export(user_id, brand_id)` returns the topic's data as JSON, in which an iterator represents an array."""

    export: Callable[[int, int], Any]
    erase: Eraser


def table(
    model: type[Model], *fields: str, stays: bool, order_by: tuple[str, ...] = (), brand: str = "brand_id"
) -> Topic:
    """The topic of a table whose rows have a `user`. If it `stays`, rows go to the pseudonym; otherwise they are
    deleted."""

    def of(user_id: int, brand_id: int) -> QuerySet[Any, Any]:
        rows = model._default_manager.filter(**{"user_id": user_id, brand: brand_id})
        return rows.order_by(*order_by) if order_by else rows

    def export(user_id: int, brand_id: int) -> Iterator[Any]:
        return rows(of(user_id, brand_id).values(*fields))

    def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
        if stays:
            of(user_id, brand_id).update(user_id=to)
        else:
            of(user_id, brand_id).delete()

    return Topic(export, erase)


def grouped(topics: Mapping[str, Topic]) -> Topic:
    """One topic that contains the others as members."""

    def export(user_id: int, brand_id: int) -> dict[str, Any]:
        return {name: topic.export(user_id, brand_id) for name, topic in topics.items()}

    def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
        for topic in topics.values():
            topic.erase(user_id, brand_id, to=to, at=at)

    return Topic(export, erase)


def rows(queryset: QuerySet[Any, Any]) -> Iterator[Any]:
    """The rows of a query, a few hundred in memory at a time."""
    return queryset.iterator(chunk_size=ROWS_AT_A_TIME)


def parts(*, user_id: int, brand_id: int) -> Iterator[str]:
    """Each topic's data under its name in the setting, as JSON in parts: row by row, never whole in memory."""
    yield "{"
    for number, (name, topic) in enumerate(topics()):
        yield f"{', ' if number else ''}{ENCODER.encode(name)}: "
        yield from as_json(topic.export(user_id, brand_id))
    yield "}"


def erase(*, user_id: int, brand_id: int, to: int, at: datetime) -> None:
    """Erase the person from every topic. Call in the erasing transaction, while their own row still identifies them."""
    for _name, topic in topics():
        topic.erase(user_id, brand_id, to=to, at=at)


def topics() -> Iterator[tuple[str, Topic]]:
    return ((name, resolve_name(path)) for name, path in settings.PERSONAL_DATA.items())


def as_json(value: Any) -> Iterator[str]:
    """JSON in parts. An iterator becomes an array whose members are read one at a time."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, content) in enumerate(value.items()):
            yield f"{', ' if number else ''}{ENCODER.encode(name)}: "
            yield from as_json(content)
        yield "}"
    elif isinstance(value, Iterator):
        yield "["
        for number, row in enumerate(value):
            yield f"{', ' if number else ''}{ENCODER.encode(row)}"
        yield "]"
    else:
        yield ENCODER.encode(value)
