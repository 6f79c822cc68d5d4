"""Columns of lists: a field, formatted, or an attribute."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from django.db.models import Field

from portal.unfold import display


class FieldColumn:
    """Columns of the same field are equal, because Django creates columns twice and compares them."""

    def __init__(self, field: "Field[Any, Any]") -> None:
        self.__name__ = self.admin_order_field = field.name
        self.short_description = field.verbose_name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__name__ == getattr(other, "__name__", None)

    def __hash__(self) -> int:
        return hash(self.__name__)


def attribute_column(path: str, *, description: Any, ordering: str | None = None) -> Callable[[Any, Any], Any]:
    """A page's column that shows an attribute of the row, or of a related row, such as `account.user`."""
    value_of = attrgetter(path)

    @display(description=description, ordering=ordering)
    def column(_page: Any, row: Any) -> Any:
        return value_of(row)

    return column
