"""What a saved list stores of a list's address, and whether the list still accepts it."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.options import IS_FACETS_VAR, IS_POPUP_VAR, TO_FIELD_VAR, IncorrectLookupParameters
from django.contrib.admin.views.main import ALL_VAR, ERROR_FLAG, PAGE_VAR
from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict
from django.utils.translation import gettext as _

from brands.models.people import User
from core.errors import DomainError, Invalid
from portal.base.tenant_admin import TenantAdmin
from portal.lists.selection import displayed_to, filters_of, list_request

MAX_QUERY_LENGTH = 2000
MAX_PARAMETERS = 40
NOT_SAVED = {ALL_VAR, ERROR_FLAG, IS_FACETS_VAR, IS_POPUP_VAR, PAGE_VAR, TO_FIELD_VAR}  # not filters

Values = Mapping[str, list[str]]  # for each parameter, as a saved list stores them


def page_of(label: str) -> TenantAdmin | None:
    """The page of the list; None if the portal has no such list."""
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError):
        return None
    page: Any = admin.site.get_model_admin(model) if admin.site.is_registered(model) else None
    return page if isinstance(page, TenantAdmin) and page.opts.label_lower == label else None


def read(page: TenantAdmin, address: str) -> Values:
    """The part of a list's query string that is saved. Raises Invalid.

    Excludes the filter by brand: a saved list belongs to one brand, whichever user opens it.
    """
    if len(address) > MAX_QUERY_LENGTH:
        raise Invalid(_("These filters are too long to be saved."))
    try:
        query = QueryDict(address)
    except SuspiciousOperation as error:
        raise Invalid(_("There are too many filters to save.")) from error
    saved = {
        name: values
        for name, values in query.lists()
        if name not in NOT_SAVED and name != brand_parameter(page) and any(values)
    }
    if len(saved) > MAX_PARAMETERS:
        raise Invalid(_("There are too many filters to save."))
    if any("\0" in text for name, values in saved.items() for text in (name, *values)):
        raise Invalid(_("The filters must not contain control characters."))
    return saved


def brand_parameter(page: TenantAdmin) -> str:
    """The parameter of the filter by brand, on the lists of users who work for several."""
    return f"{page.brand_path}__id__exact"


def address_query(values: Values) -> QueryDict:
    """The query of the list's address."""
    query = QueryDict(mutable=True)
    for name, each in values.items():
        query.setlist(name, each)
    return query


def rejected(user: User, page: TenantAdmin, values: Values) -> list[str]:
    """The parameters that the list does not accept for `user` now; all, if only their combination fails."""
    if _is_taken(user, page, values):
        return []
    return [name for name in values if not _is_taken(user, page, {name: values[name]})] or list(values)


def _is_taken(user: User, page: TenantAdmin, values: Values) -> bool:
    try:
        displayed_to(user, page.model, address_query(values).urlencode())
    except (DomainError, IncorrectLookupParameters, SuspiciousOperation):
        return False
    return True


def filter_names(user: User, page: TenantAdmin, names: Iterable[str]) -> str:
    """Filters by their titles in the list; unknown ones by their parameters."""
    titles = {"q": _("search"), "o": _("order")}
    changes = page.get_changelist_instance(list_request(user, ""))
    titles |= {name: str(spec.title) for spec in changes.filter_specs for name in spec.expected_parameters() if name}
    return ", ".join(dict.fromkeys(titles.get(name, name) for name in names))


def displayed_filters(user: User, label: str, values: Values) -> list[str]:
    """The active filters as text; parameters that the list does not accept as they are in its address."""
    page = page_of(label)
    if page is None or rejected(user, page, values):
        return [f"{name}: {', '.join(each)}" for name, each in values.items()]
    request = list_request(user, address_query(values).urlencode())
    return filters_of(request, page.get_changelist_instance(request))
