"""Columns of points in the portal's lists: whole points are shown without a fraction."""

from decimal import Decimal
from typing import Any

from django.db.models import DecimalField
from django.utils.formats import number_format


class PointsColumn:
    """A list's column of points. Two of the same field are equal, because Django makes columns twice."""

    def __init__(self, field: "DecimalField[Any, Any]") -> None:
        self.__name__ = self.admin_order_field = field.name
        self.short_description = field.verbose_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointsColumn) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __call__(self, row: Any) -> str | None:
        points: Decimal | None = getattr(row, self.__name__)
        return None if points is None else points_in_words(points)


def points_in_words(points: Decimal) -> str:
    """Points as people read them: 10, 12.50."""
    whole = points == points.to_integral_value()
    return number_format(points, decimal_pos=0 if whole else 2)
