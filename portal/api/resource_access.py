"""Who may import and export a resource over the API: staff as in the portal, and a hub key by the resource's scope."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from rest_framework.request import Request

from brands.access.brand_access import BrandAccess, for_brand
from brands.identity.roles import ACT
from core.db import row_guard
from core.errors import Forbidden, NotFound
from portal.import_export import registry
from portal.import_export.exportable import JOB
from portal.import_export.resource import TenantResource

M = TypeVar("M", bound=Callable[..., Any])
Resource = type[TenantResource]


def imports(*, writes: bool = False) -> Callable[[M], M]:
    """Run a view's method for callers who may import the path's resource. It gets `access` and the resource."""
    return _for_resource(lambda resource: resource.write_scope, _require_import, writes=writes)


def exports(method: M) -> M:
    """The same for callers who may export it."""
    return _for_resource(lambda resource: resource.read_scope, _require_export, writes=False)(method)


def _for_resource(
    scope: Callable[[Resource], str], require: Callable[[BrandAccess, Resource], None], *, writes: bool
) -> Callable[[M], M]:
    def decorated(method: M) -> M:
        @row_guard.marked(row_guard.OF_BRAND)
        @wraps(method)
        def guarded(view: Any, request: Request, resource: str, **where: Any) -> Any:
            result = registry.resources().get(resource)
            if result is None:
                raise NotFound

            def allowed(view: Any, request: Request, access: BrandAccess, **where: Any) -> Any:
                require(access, result)
                return method(view, request, access, result, **where)

            with_access = for_brand(scope(result), result.label(), writes=writes)(allowed)
            return with_access(view, request, **where)

        return cast("M", guarded)

    return decorated


def _require_import(access: BrandAccess, resource: Resource) -> None:
    """Raises Forbidden for a caller who may neither add nor change rows."""
    verbs = resource.add_verb + resource.change_verb
    if not any(access.may(resource.write_scope, resource.label(), verb) for verb in verbs):
        raise Forbidden


def _require_export(access: BrandAccess, resource: Resource) -> None:
    """Raises Forbidden for staff who may not export rows from the portal's lists either."""
    if access.user is not None and not access.may(resource.read_scope, JOB, ACT):
        raise Forbidden
