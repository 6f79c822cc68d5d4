"""What is held of a person at a brand, by topic: the one place that walks all of it, to hand it out or erase it.

settings.PERSONAL_DATA names the topics, in the order in which both are done. Each app declares its own in its
`personal_data.py`; a new table joins by a topic there and a line in that setting.
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
        """Take the person out of the topic: what must stay is then of the user `to`, a pseudonym."""


@dataclass(frozen=True, slots=True)
class Topic:
    """`export(user_id, brand_id)` hands out what the topic holds: JSON, in which an iterator stands for an array."""

    export: Callable[[int, int], Any]
    erase: Eraser


def table(
    model: type[Model], *fields: str, stays: bool, order_by: tuple[str, ...] = (), brand: str = "brand_id"
) -> Topic:
    """The topic that is a table's rows of a `user`. What `stays` becomes the pseudonym's, the rest is deleted."""

    def of(user_id: int, brand_id: int) -> QuerySet[Any, Any]:
        rows = model._default_manager.filter(**{"user_id": user_id, brand: brand_id})  # noqa: SLF001 - public
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
    """One topic that has the others as its members."""

    def export(user_id: int, brand_id: int) -> dict[str, Any]:
        return {name: topic.export(user_id, brand_id) for name, topic in topics.items()}

    def erase(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
        for topic in topics.values():
            topic.erase(user_id, brand_id, to=to, at=at)

    return Topic(export, erase)


def rows(queryset: QuerySet[Any, Any]) -> Iterator[Any]:
    """The rows of a query, of which a few hundred at a time are in memory."""
    return queryset.iterator(chunk_size=ROWS_AT_A_TIME)


def parts(*, user_id: int, brand_id: int) -> Iterator[str]:
    """What each topic holds, by its name in the setting, as JSON in parts: row by row, never whole in memory."""
    yield "{"
    for number, (name, topic) in enumerate(topics()):
        yield f"{', ' if number else ''}{ENCODER.encode(name)}: "
        yield from as_json(topic.export(user_id, brand_id))
    yield "}"


def erase(*, user_id: int, brand_id: int, to: int, at: datetime) -> None:
    """Take the person out of every topic. Call in the transaction that erases, while their own row still names them."""
    for _name, topic in topics():
        topic.erase(user_id, brand_id, to=to, at=at)


def topics() -> Iterator[tuple[str, Topic]]:
    return ((name, resolve_name(path)) for name, path in settings.PERSONAL_DATA.items())


def as_json(value: Any) -> Iterator[str]:
    """JSON in parts, in which an iterator is an array whose members are asked for one at a time."""
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
