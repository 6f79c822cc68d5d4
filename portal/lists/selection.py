"""The rows and filters that a list of the portal shows."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.messages.api import MessageFailure
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from brands.models.people import User
from portal.lists.live import is_id


def filters_of(request: HttpRequest, changes: Any) -> list[str]:
    """What limits the list, in words for the page."""
    displayed = [
        f"{spec.title}{_end_of(name)}: {_text_of(request, spec, request.GET[name])}"
        for spec in changes.filter_specs
        for name in spec.expected_parameters()
        if request.GET.get(name)
    ]
    if changes.query:
        displayed.append(_("search: %(words)s") % {"words": changes.query})
    return displayed


def _end_of(parameter: str) -> str:
    ends = {"_from": _(" from"), "_to": _(" to")}
    return next((label for end, label in ends.items() if parameter.endswith(end)), "")


def _text_of(request: HttpRequest, spec: Any, value: str) -> str:
    """A filter's choice as the list names it; a row only if the person may see it."""
    field = getattr(spec, "field", None)
    if field is not None and field.related_model and is_id(value):
        page: Any = admin.site.get_model_admin(field.related_model)
        return str(page.get_queryset(request).filter(pk=value).first() or value)
    choices = getattr(field, "flatchoices", None) or getattr(spec, "lookup_choices", None) or ()
    return str(dict(choices).get(value, value))


def displayed_to(user: User, model: Any, query: str) -> QuerySet[Any]:
    """Every row of a list's pages, in the list's order. Raises IncorrectLookupParameters."""
    page: Any = admin.site.get_model_admin(model)
    request = HttpRequest()
    request.method = "GET"
    request.GET = QueryDict(query)
    request.user = user
    try:
        changes = page.get_changelist_instance(request)
    except MessageFailure:  # a list complains of what cannot be searched for, and nobody is here to hear it
        raise IncorrectLookupParameters from None
    rows: QuerySet[Any] = changes.queryset
    return rows
