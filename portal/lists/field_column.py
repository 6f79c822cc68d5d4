"""A list's column that shows a field in a way of its own."""

from typing import Any

from django.db.models import Field


class FieldColumn:
    """Two of the same field are equal, because Django makes columns twice and compares them."""

    def __init__(self, field: "Field[Any, Any]") -> None:
        self.__name__ = self.admin_order_field = field.name
        self.short_description = field.verbose_name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__name__ == getattr(other, "__name__", None)

    def __hash__(self) -> int:
        return hash(self.__name__)
