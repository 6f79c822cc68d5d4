"""Filters of the API's lists: django-filter's filter sets, with the API's error messages."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.utils.functional import lazy
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core import languages, moments
from core.errors import Invalid

PAGING = ("limit", "cursor")
UUID_TEXT = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
UNKNOWN = gettext_noop("This list has no parameter of this name. It has %(known)s.")

if TYPE_CHECKING:  # it has no types

    class FilterSet:
        errors: Any
        form: Any
        request: Any
        qs: QuerySet[Any]

        def __init__(self, data: Mapping[str, str], queryset: QuerySet[Any], *, request: Request) -> None: ...
        def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]: ...

    class Filter:
        field_name: str

        def __init__(self, **options: Any) -> None: ...

    OneOf = Filter
else:
    from django_filters.rest_framework import ChoiceFilter as OneOf
    from django_filters.rest_framework import Filter, FilterSet


class TenantFilterSet(FilterSet):
    """The query parameters that filter a list. Any other parameter is rejected: a typo would return all rows.

    The rows are limited to the caller's before they are filtered. Filters are never generated from a model, so none
    reaches other tenants' rows. A parameter has its filter's name, without the underscore that avoids a keyword. A
    parameter with an empty value is rejected; as a form, the set would ignore it.
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
    @cache
    def _form_class(cls) -> Any:
        """Cached: django-filter would create a class for every request. Each form copies the fields."""
        return type(f"{cls.__name__}Form", (forms.Form,), {name: it.field for name, it in cls.declared_filters.items()})

    def get_form_class(self) -> Any:
        return self._form_class()

    @classmethod
    def parameters(cls) -> list[OpenApiParameter]:
        """The parameters for the API's description."""
        return [each.described() for each in cls.declared_filters.values()]

    @classmethod
    def of(cls, request: Request, rows: QuerySet[Any]) -> Self:
        """Apply the request's filters to `rows`. Raises Invalid, which names the parameter."""
        named = {name: each.parameter for name, each in cls.declared_filters.items()}
        cls.reject_unknown(request, {*named.values(), *PAGING})
        parameters = {name: request.query_params.get(parameter) for name, parameter in named.items()}
        filled_parameters = {name: text for name, text in parameters.items() if text is not None}
        filters = cls(filled_parameters, rows, request=request)
        for name, parameter in named.items():
            if name in filters.errors:
                message = f"{parameter} {in_language(filters, name)}"
                raise Invalid(message, details={"field": parameter})
            if filled_parameters.get(name) == "":
                message = languages.filled(
                    "%(name)s must not be empty. Leave it out to list everything.", name=parameter
                )
                raise Invalid(message, details={"field": parameter})
        return filters

    @staticmethod
    def reject_unknown(request: Request, known: set[str]) -> None:
        """Raises Invalid, which names the first parameter that this list does not support."""
        for parameter in request.query_params:
            if parameter not in known:
                message = languages.filled(UNKNOWN, known=", ".join(sorted(known)))
                raise Invalid(message, details={"field": parameter[:100]})


def in_language(filters: FilterSet, name: str) -> str:
    """The error message of a parameter. It was created before the language of the answer was decided."""
    [error, *_remaining] = filters.errors.as_data()[name]
    languages.decide()
    return str(error.messages[0])


class Parameter:
    """A filter as a query parameter. The filter set puts the parameter's name before its error messages."""

    parameter: str
    description: str
    schema: Mapping[str, Any]

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(**options)
        self.description = description

    def described(self) -> OpenApiParameter:
        return OpenApiParameter(self.parameter, dict(self.schema), description=self.description)


def one_of(values: tuple[str, ...]) -> str:
    """The message that lists the allowed values of a parameter."""
    return gettext("is %(values)s or %(last)s.") % {"values": ", ".join(values[:-1]), "last": values[-1]}


class ChoiceFilter(Parameter, OneOf):
    """One of a few values. The error message lists them."""

    def __init__(self, *, values: list[str], **options: Any) -> None:
        message = lazy(one_of, str)(tuple(values))
        choices = [(value, value) for value in values]
        super().__init__(choices=choices, error_messages={"invalid_choice": message}, **options)
        self.schema = {"type": "string", "enum": values}


class DayField(forms.Field):
    """A day in ISO 8601. It is clamped to the bounds of core.moments."""

    def to_python(self, value: Any) -> date | None:
        if value is None:
            return None
        try:
            day = date.fromisoformat(value) if len(value) == len("2026-03-01") and value.isascii() else None
        except ValueError:
            day = None
        if day is None:
            raise forms.ValidationError(gettext_lazy("must be a day such as 2026-03-01."))
        return min(max(day, moments.FIRST_DAY), moments.LAST_DAY)


class DayFilter(Parameter, Filter):
    """A day in the brand's time zone; the filter set converts it to a moment."""

    field_class = DayField
    schema = {"type": "string", "format": "date"}


class IdField(forms.Field):
    """A row's id, in ASCII digits."""

    def to_python(self, value: Any) -> int | None:
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= 19 and 1 <= int(value) < 2**63):
            raise forms.ValidationError(gettext_lazy("must be the number of a row."))
        return int(value)


class IdFilter(Parameter, Filter):
    """The id of a related row. Another tenant's id gives the same result as an id that does not exist."""

    field_class = IdField
    schema = {"type": "integer", "minimum": 1}


MAX_IDS = 100


class IdsField(IdField):
    """Several rows' ids, separated by commas."""

    def to_python(self, value: Any) -> Any:
        if value is None:
            return None
        parts = value.split(",", MAX_IDS)
        if len(parts) > MAX_IDS:
            raise forms.ValidationError(gettext_lazy("takes at most %(most)d numbers."), params={"most": MAX_IDS})
        return [super(IdsField, self).to_python(part) for part in parts]


class IdsFilter(Parameter, Filter):
    """Any of several rows, by their ids: at most MAX_IDS."""

    field_class = IdsField
    schema = {"type": "string", "pattern": r"^[0-9]{1,19}(,[0-9]{1,19}){0,99}$"}

    def __init__(self, **options: Any) -> None:
        super().__init__(lookup_expr="in", **options)


class UuidField(forms.Field):
    """A UUID in the format of RFC 9562."""

    def to_python(self, value: Any) -> UUID | None:
        if value is None:
            return None
        if not UUID_TEXT.fullmatch(value):
            raise forms.ValidationError(gettext_lazy("must be a UUID."))
        return UUID(value)


class UuidFilter(Parameter, Filter):
    """Exactly this UUID."""

    field_class = UuidField
    schema = {"type": "string", "format": "uuid"}


class TextField(forms.Field):
    """A text of at most a column's length."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length

    def to_python(self, value: Any) -> str | None:
        if value is not None and (len(value) > self.max_length or not value.isprintable()):
            message = gettext_lazy("must be a text of at most %(most)d characters.")
            raise forms.ValidationError(message, params={"most": self.max_length})
        return cast("str | None", value)


class TextFilter(Parameter, Filter):
    """Exactly this text."""

    field_class = TextField

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self.schema = {"type": "string", "maxLength": max_length}


class SwitchFilter(Parameter, OneOf):
    """True or false."""

    schema = {"type": "boolean"}

    def __init__(self, **options: Any) -> None:
        choices = [("true", "true"), ("false", "false")]
        super().__init__(
            choices=choices, error_messages={"invalid_choice": gettext_lazy("is true or false.")}, **options
        )

    def filter(self, rows: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return rows.filter(**{self.field_name: value == "true"}) if value else rows


class MomentField(forms.Field):
    """A moment in ISO 8601, with its offset from UTC."""

    def to_python(self, value: Any) -> datetime | None:
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value) if value.isascii() and len(value) <= 40 else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None or not moments.is_within(moment):
            raise forms.ValidationError(gettext_lazy("must be a moment such as 2026-03-14T09:26:53Z."))
        return moment


class SinceFilter(Parameter, Filter):
    """Rows whose moment is at or after this one."""

    field_class = MomentField
    schema = {"type": "string", "format": "date-time"}

    def __init__(self, **options: Any) -> None:
        super().__init__(lookup_expr="gte", **options)


class NoFilter(TenantFilterSet):
    """A list without filters."""
