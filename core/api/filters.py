"""What the API's lists are narrowed by: django-filter's sets, refused in the API's words."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django import forms
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core import moments
from core.errors import Invalid

if TYPE_CHECKING:  # it has no types

    class FilterSet:
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


class TenantFilterSet(FilterSet):
    """The filters of a list: query parameters that narrow it. Others mean nothing here.

    The rows are the caller's before they are filtered, and no filter leads from them to others': none is made from a
    model. A parameter has its filter's name, without the underscore that keeps one from being a keyword. One that is
    given and empty is refused; as a form, the set would take it for none.
    """

    declared_filters: ClassVar[Mapping[str, Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, each in cls.declared_filters.items():
            if not isinstance(each, Parameter):
                message = f"{cls.__name__}.{name} is no filter of {__name__}."
                raise TypeError(message)
            each.parameter = name.rstrip("_")

    @classmethod
    def parameters(cls) -> list[OpenApiParameter]:
        """For the API's description."""
        return [each.described() for each in cls.declared_filters.values()]

    @classmethod
    def of(cls, request: Request, rows: QuerySet[Any]) -> Self:
        """The request's filters on `rows`. Raises Invalid, which names the parameter."""
        named = {name: each.parameter for name, each in cls.declared_filters.items()}
        given = {name: request.query_params.get(parameter) for name, parameter in named.items()}
        asked = {name: text for name, text in given.items() if text is not None}
        found = cls(asked, rows, request=request)
        for name, parameter in named.items():
            if name in found.errors:
                raise Invalid(f"{parameter} {found.errors[name][0]}", details={"field": parameter})
            if asked.get(name) == "":
                words = f"{parameter} must not be empty. Leave it out to list everything."
                raise Invalid(words, details={"field": parameter})
        return found


class Parameter:
    """A filter as a query parameter. Its complaints go on from the parameter's name, which the set knows."""

    parameter: str
    description: str
    schema: Mapping[str, Any]

    def described(self) -> OpenApiParameter:
        return OpenApiParameter(self.parameter, dict(self.schema), description=self.description)


class ChoiceFilter(Parameter, OneOf):
    """One of a few words; whatever else is given is told which."""

    def __init__(self, *, values: list[str], description: str, **options: Any) -> None:
        words = f"is {', '.join(values[:-1])} or {values[-1]}."
        choices = [(value, value) for value in values]
        super().__init__(choices=choices, error_messages={"invalid_choice": words}, **options)
        self.description = description
        self.schema = {"type": "string", "enum": values}


class DayField(forms.Field):
    """A day as ISO 8601 writes it; days long before and after all rows mean the same."""

    def to_python(self, value: Any) -> date | None:
        if value is None:
            return None
        try:
            day = date.fromisoformat(value) if len(value) == len("2026-03-01") and value.isascii() else None
        except ValueError:
            day = None
        if day is None:
            raise forms.ValidationError("must be a day such as 2026-03-01.")
        return min(max(day, moments.FIRST_DAY), moments.LAST_DAY)


class DayFilter(Parameter, Filter):
    """A day of the brand's; the set says what it means for a moment."""

    field_class = DayField
    schema = {"type": "string", "format": "date"}

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(**options)
        self.description = description
