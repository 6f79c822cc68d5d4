"""What the API's lists are narrowed by: django-filter's sets, refused in the API's words."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django import forms
from django.db.models import QuerySet
from rest_framework.request import Request

from core import moments
from core.errors import Invalid

if TYPE_CHECKING:  # it has no types

    class FilterSet:
        base_filters: ClassVar[dict[str, Any]]
        errors: Any
        form: Any
        request: Any
        qs: QuerySet[Any]

        def __init__(self, data: Mapping[str, str], queryset: QuerySet[Any], *, request: Request) -> None: ...

    class Filter:
        def __init__(self, **options: Any) -> None: ...

    OneOf = Filter
else:
    from django_filters.rest_framework import ChoiceFilter as OneOf
    from django_filters.rest_framework import Filter, FilterSet


class ListFilters(FilterSet):
    """The filters of a list: query parameters that narrow it. Others mean nothing here.

    A parameter that is given and empty is refused; as a form, the set would take it for none.
    """

    # The query parameter of a filter, where it is called otherwise.
    parameters: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of(cls, request: Request, rows: QuerySet[Any]) -> Self:
        """The request's filters on `rows`. Raises Invalid, which names the parameter."""
        named = {name: cls.parameters.get(name, name) for name in cls.base_filters}
        given = {name: request.query_params.get(parameter) for name, parameter in named.items()}
        asked = {name: text for name, text in given.items() if text is not None}
        found = cls(asked, rows, request=request)
        for name, parameter in named.items():
            if name in found.errors:
                raise Invalid(found.errors[name][0], details={"field": parameter})
            if asked.get(name) == "":
                words = f"{parameter} must not be empty. Leave it out to list everything."
                raise Invalid(words, details={"field": parameter})
        return found


class ChoiceFilter(OneOf):
    """One of a few words; whatever else is given is told which."""

    def __init__(self, *, parameter: str, values: list[str], **options: Any) -> None:
        words = f"{parameter} is {', '.join(values[:-1])} or {values[-1]}."
        choices = [(value, value) for value in values]
        super().__init__(choices=choices, error_messages={"invalid_choice": words}, **options)


class DayField(forms.Field):
    """A day as ISO 8601 writes it; days long before and after all rows mean the same."""

    def __init__(self, *, parameter: str, **options: Any) -> None:
        self.words = f"{parameter} must be a day such as 2026-03-01."
        super().__init__(**options)

    def to_python(self, value: Any) -> date | None:
        if value is None:
            return None
        try:
            day = date.fromisoformat(value) if len(value) == len("2026-03-01") and value.isascii() else None
        except ValueError:
            day = None
        if day is None:
            raise forms.ValidationError(self.words)
        return min(max(day, moments.FIRST_DAY), moments.LAST_DAY)


class DayFilter(Filter):
    """A day of the brand's; the set says what it means for a moment."""

    field_class = DayField
