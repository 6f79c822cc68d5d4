"""The common parts of the brand's endpoints: reads with an ETag, lists, and their descriptions."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response, set_response_etag
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.access.brand_access import access_of
from brands.access.idempotent_requests import answer_once
from brands.identity.authentication import BearerToken
from core.api.filters import TenantFilterSet
from core.api.idempotency import IDEMPOTENCY_HEADER
from core.api.lists import ListView
from core.api.openapi.endpoint import BEARER, KEY, endpoint
from core.api.openapi.examples import answer_example
from core.api.openapi.shared_examples import LAST_PAGE
from core.api.outputs import Output, SuccessField
from core.api.pagination import PaginationOutput, page_parameters
from core.errors import DomainError, NotFound

R = TypeVar("R", bound=Model)
F = TypeVar("F", bound=Callable[..., Any])

UNCHANGED = OpenApiResponse(description="Not modified: `If-None-Match` has the current `ETag`.")
HUB_OR_STAFF = [KEY, BEARER]
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` of an earlier answer; if it still matches, the answer is 304.",
)


class BrandView(APIView):
    """A view for the brand's hub and staff. Its reads return an ETag."""

    authentication_classes = (BearerToken,)
    permission_classes = (AllowAny,)

    def finalize_response(self, request: Any, response: Any, *where: Any, **more: Any) -> Any:
        finished = super().finalize_response(request, response, *where, **more)
        if request.method == "GET" and finished.status_code == 200:
            finished.headers["Cache-Control"] = "private, no-cache"
            finished.add_post_render_callback(lambda rendered: _unless_known(request, rendered))
        return finished


def _unless_known(request: Any, response: Any) -> HttpResponseBase | None:
    """304 if the caller has this answer already."""
    set_response_etag(response)
    return get_conditional_response(request, etag=response["ETag"], response=response)


class BrandList(ListView, BrandView):
    """A list for the brand's hub and staff, newest first by default."""

    output: type[Output]
    ordering: ClassVar[tuple[str, ...]] = ("-id",)

    def listed(self, rows: QuerySet[Any]) -> Response:
        return Response(self.output.serialize(self.page_of(rows)))


def list_output(row: type[Output]) -> type[Output]:
    """The output of a list of these rows."""
    name = row.__name__.removesuffix("Output") + "ListOutput"
    members = {
        "success": SuccessField(),
        "data": row(many=True, source="rows"),
        "pagination": PaginationOutput(),
        "__doc__": f"A page of {row.__name__.removesuffix('Output')} rows.",
    }
    return type(name, (Output,), members)


def row_output(row: type[Output]) -> type[Output]:
    """The output of one such row."""
    name = row.__name__.removesuffix("Output") + "RowOutput"
    return type(name, (Output,), {"success": SuccessField(), "data": row(source="*")})


def row_of(rows: "QuerySet[R]", **which: Any) -> R:
    """The only matching row. Raises NotFound."""
    row = rows.filter(**which).first()
    if row is None:
        raise NotFound
    return row


def list_endpoint(
    name: str, summary: str, output: type[Output], example: dict[str, Any], *, filters: type[TenantFilterSet]
) -> Callable[[F], F]:
    """The description of a list."""
    page = {"success": True, "data": [example], "pagination": LAST_PAGE}
    return endpoint(
        name,
        tag="Brand",
        summary=summary,
        needs=HUB_OR_STAFF,
        calls=[access_of],
        parameters=[*page_parameters(), *filters.parameters(), IF_NONE_MATCH],
        responses={200: output, 304: UNCHANGED},
        examples=[answer_example("The only page", page)],
    )


def row_endpoint(
    name: str,
    summary: str,
    output: type[Output],
    example: dict[str, Any],
    *,
    missing: type[DomainError] = NotFound,
) -> Callable[[F], F]:
    """The description of an endpoint that returns one row."""
    return endpoint(
        name,
        tag="Brand",
        summary=summary,
        needs=HUB_OR_STAFF,
        calls=[access_of],
        raises=[missing],
        parameters=[IF_NONE_MATCH],
        responses={200: output, 304: UNCHANGED},
        examples=[answer_example("Current state", {"success": True, "data": example})],
    )


def write_endpoint(
    name: str,
    summary: str,
    *,
    request: Any,
    responses: Any,
    examples: Sequence[Any],
    raises: Sequence[type[DomainError]] = (),
    calls: Sequence[Any] = (),
) -> Callable[[F], F]:
    """The description of a write."""
    return endpoint(
        name,
        tag="Brand",
        summary=summary,
        needs=HUB_OR_STAFF,
        calls=[access_of, answer_once, *calls],
        raises=list(raises),
        parameters=[IDEMPOTENCY_HEADER],
        request=request,
        responses=responses,
        examples=list(examples),
    )
