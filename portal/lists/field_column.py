"""A list's column that formats a field."""

from typing import Any

from django.db.models import Field


class FieldColumn:
    """Columns of the same field are equal, because Django creates columns twice and compares them."""

    def __init__(self, field: "Field[Any, Any]") -> None:
        self.__name__ = self.admin_order_field = field.name
        self.short_description = field.verbose_name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__name__ == getattr(other, "__name__", None)

    def __hash__(self) -> int:
        return hash(self.__name__)
