"""The rows and active filters of a portal list."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import NotRelationField, get_fields_from_path
from django.contrib.admin.views.main import SEARCH_VAR
from django.contrib.messages.api import MessageFailure
from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, DateField, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from brands.models.people import User
from brands.tenants import local_time
from core.numbers import is_id


@dataclass(frozen=True, slots=True)
class Limit:
    """An active filter as text, and its query parameter."""

    parameter: str
    text: str


def limits_of(request: HttpRequest, changes: Any) -> list[Limit]:
    """What limits the list: its filters, extra parameters of a link, and the search."""
    named = [(name, spec) for spec in changes.filter_specs for name in spec.expected_parameters() if name]
    result = []
    for name, spec in named:
        if value := request.GET.get(name):
            text = _text_of(request, getattr(spec, "field", None), spec, value)
            result.append(Limit(name, _limit_text(name, capfirst(spec.title), text)))
    known = {name for name, _spec in named}
    for name, values in changes.get_filters_params().items():
        if name not in known and any(values):
            field = _field_at(changes.model, name)
            title = capfirst(str(field.verbose_name)) if field is not None else name
            result.append(Limit(name, f"{title}: {_text_of(request, field, None, values[-1])}"))
    if changes.query:
        result.append(Limit(SEARCH_VAR, _("Search: %(text)s") % {"text": changes.query}))
    return result


def filters_of(request: HttpRequest, changes: Any) -> list[str]:
    """The active filters as text for the page."""
    return [limit.text for limit in limits_of(request, changes)]


def _limit_text(parameter: str, title: str, value: str) -> str:
    """`title`: of the filter; two of its parameters may be the ends of a period."""
    placeholders = {"title": title, "value": value}
    if parameter.endswith("_from"):
        return _("%(title)s from: %(value)s") % placeholders
    if parameter.endswith("_to"):
        return _("%(title)s to: %(value)s") % placeholders
    return f"{title}: {value}"


def _field_at(model: Any, parameter: str) -> Any:
    """The field of a lookup such as `batch__state__exact`; None if the model has no such field."""
    parts = parameter.split("__")
    while parts:
        try:
            return get_fields_from_path(model, "__".join(parts))[-1]
        except (FieldDoesNotExist, NotRelationField):
            parts.pop()
    return None


def _text_of(request: HttpRequest, field: Any, spec: Any, value: str) -> str:
    """A filter's value as the list shows it; a row only if the user may see it."""
    if value in (chosen := getattr(spec, "chosen", {})):
        return str(chosen[value])
    if field is not None and field.related_model and is_id(value):
        page: Any = admin.site.get_model_admin(field.related_model)
        return str(page.get_queryset(request).filter(pk=value).first() or value)
    if isinstance(field, BooleanField) and value in {"0", "1"}:
        return _("yes") if value == "1" else _("no")
    if isinstance(field, DateField) and (day := local_time.read_day(value)):
        return date_format(day, "DATE_FORMAT")
    choices = getattr(field, "flatchoices", None) or getattr(spec, "lookup_choices", None) or ()
    return str(dict(choices).get(value, value))


def list_request(user: Any, query: str) -> HttpRequest:
    """A request for a list as if `user` opened it with this query string."""
    request = HttpRequest()
    request.method, request.GET, request.user = "GET", QueryDict(query), user
    return request


def displayed_to(user: User, model: Any, query: str) -> QuerySet[Any]:
    """Every row of all pages of a list, in its order. Raises IncorrectLookupParameters."""
    page: Any = admin.site.get_model_admin(model)
    try:
        changes = page.get_changelist_instance(list_request(user, query))
    except MessageFailure:  # a list reports a search error as a message, which has no recipient here
        raise IncorrectLookupParameters from None
    rows: QuerySet[Any] = changes.queryset
    return rows
