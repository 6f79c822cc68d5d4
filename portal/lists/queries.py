"""The query parameters that a list accepts: those of its own filters, and its `linked_filters`. No others."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.filters import FieldListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.admin.views.main import ERROR_FLAG
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import get_resolver
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import Invalid
from portal.unfold import ChangeList, ModelAdmin

logger = logging.getLogger(__name__)


class UnknownFilter(Invalid):
    """A list was requested with a parameter that none of its filters has."""

    default_message = gettext_lazy(
        "The list does not have this filter, so it shows nothing. Open the list again and choose one of its filters."
    )


class KnownFiltersMixin(ModelAdmin):
    """A page whose list accepts only its own filters' parameters, and shows an error for others.

    Django would follow any chain of relations that ends in a field it considers harmless.
    """

    # Parameters of links from other pages, besides those of the filters: a name, or `name=value`.
    linked_filters: ClassVar[tuple[str, ...]] = ()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        if lookup in self.linked_filters or f"{lookup}={value}" in self.linked_filters:
            return True
        return request is not None and lookup in self.filter_parameters(request)

    def filter_parameters(self, request: HttpRequest) -> frozenset[str]:
        """The parameters of the list's own filters, which are built once per request."""
        known: dict[str, frozenset[str]] = vars(request).setdefault("filter_parameters", {})
        if self.opts.label_lower not in known:
            known[self.opts.label_lower] = frozenset(self.produced(request))
        return known[self.opts.label_lower]

    def produced(self, request: HttpRequest) -> Iterator[str]:
        for each in self.get_list_filter(request):
            if callable(each):
                spec: Any = each(request, {}, self.model, self)
            else:
                path, kind = as_declared(each)
                field = get_fields_from_path(self.model, path)[-1]
                spec = kind(field, request, {}, self.model, self, field_path=path)
            yield from filter(None, spec.expected_parameters())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if ERROR_FLAG in request.GET:  # with it, Django would blame the database for a bad filter value
            query: Any = request.GET.copy()
            del query[ERROR_FLAG]
            request.GET = query
        return super().changelist_view(request, extra_context)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Raises UnknownFilter, or IncorrectLookupParameters for a value that its filter does not accept."""
        try:
            return super().get_changelist_instance(request)
        except DisallowedModelAdminLookup as error:
            logger.warning("Refused a filter that the list of %s does not have.", self.opts.label_lower)
            raise UnknownFilter from error
        except IncorrectLookupParameters:
            message = _("You do not have access to one of the filters, so the list is not filtered.")
            self.message_user(request, message, messages.ERROR)
            raise


@dataclass
class SearchRows:
    """The rows that a list shows."""

    rows: QuerySet[Any]


@contextmanager
def report_search_error(request: HttpRequest, rows: QuerySet[Any]) -> Iterator[SearchRows]:
    """Show no row, and the reason, if the block rejects the search text. An export cannot show it, and fails."""
    search = SearchRows(rows.none())
    try:
        yield search
    except Invalid as error:
        if not hasattr(request, "_messages"):
            raise
        messages.error(request, error.message)


def as_declared(each: Any) -> tuple[str, Any]:
    """A field's path and its filter class."""
    return each if isinstance(each, tuple) else (each, FieldListFilter.create)


def bad_request(request: HttpRequest, error: Exception) -> HttpResponse:
    """The project's own answer to a bad request, with the reason."""
    handler: Any = get_resolver().resolve_error_handler(400)
    answer: HttpResponse = handler(request, exception=error)
    return answer
