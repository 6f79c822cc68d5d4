"""The common parts of the brand's endpoints: reads with an ETag, lists, single rows, and their descriptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response, set_response_etag
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.access.brand_access import BrandAccess, access_of, for_brand
from brands.access.idempotent_requests import answer_once
from brands.models.credentials import ApiKey
from core.api.filters import NoFilter, TenantFilterSet
from core.api.idempotency import IDEMPOTENCY_HEADER
from core.api.openapi.endpoint import BEARER, KEY, endpoint
from core.api.openapi.examples import data_example, page_example
from core.api.outputs import Output, SuccessField
from core.api.pagination import PaginationOutput, page_parameters, paged
from core.errors import DomainError, NotFound

R = TypeVar("R", bound=Model)
F = TypeVar("F", bound=Callable[..., Any])
RowSelector = Callable[..., QuerySet[Any]]  # a view's method that returns the rows to answer with
ViewMethod = Callable[..., Response]

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


def row_of(rows: "QuerySet[R]", **which: Any) -> R:
    """The only matching row. Raises NotFound."""
    row = rows.filter(**which).first()
    if row is None:
        raise NotFound
    return row


def read_endpoint(
    name: str,
    summary: str,
    output: type[Output],
    example: OpenApiExample,
    *,
    parameters: Sequence[Any] = (),
    raises: Sequence[type[DomainError]] = (),
) -> Callable[[F], F]:
    """The description of a read."""
    return endpoint(
        name,
        tag="Brand",
        summary=summary,
        needs=HUB_OR_STAFF,
        calls=[access_of],
        raises=list(raises),
        parameters=[*parameters, IF_NONE_MATCH],
        responses={200: output, 304: UNCHANGED},
        examples=[example],
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


def row_output(row: type[Output]) -> type[Output]:
    """The output of one such row."""
    name = row.__name__.removesuffix("Output") + "RowOutput"
    return type(name, (Output,), {"success": SuccessField(), "data": row(source="*")})


@dataclass(frozen=True)
class ModelEndpoints:
    """The endpoints through which a brand's hub and staff read the rows of one model: a list, and one row.

    A hub key needs the `scope`; staff must be allowed to view the model `label` in the portal.
    """

    label: str
    output: type[Output]
    example: dict[str, Any]
    filters: type[TenantFilterSet] = NoFilter
    ordering: tuple[str, ...] = ("-id",)
    scope: str = ApiKey.Scope.READ
    missing: type[DomainError] = NotFound

    @cached_property
    def row_output(self) -> type[Output]:
        """The output of one row."""
        return row_output(self.output)

    @cached_property
    def list_output(self) -> type[Output]:
        """The output of a page of rows."""
        name = self.output.__name__.removesuffix("Output")
        members = {
            "success": SuccessField(),
            "data": self.output(many=True, source="rows"),
            "pagination": PaginationOutput(),
            "__doc__": f"A page of {name} rows.",
        }
        return type(f"{name}ListOutput", (Output,), members)

    def list_endpoint(self, name: str, summary: str) -> Callable[[RowSelector], ViewMethod]:
        """Answer with a page of the rows that a view's method selects. The method's docstring is published."""

        def decorate(method: RowSelector) -> ViewMethod:
            @read_endpoint(
                name,
                summary,
                self.list_output,
                page_example(self.example),
                parameters=[*page_parameters(), *self.filters.parameters()],
            )
            @for_brand(self.scope, self.label)
            @wraps(method)
            def get(view: BrandView, request: Request, access: BrandAccess) -> Response:
                rows = self.filters.of(request, method(view, access)).qs
                result, pagination = paged(request, rows, order=self.ordering, view=view)
                return Response(self.list_output.serialize({"rows": result, "pagination": pagination}))

            return get

        return decorate

    def row_endpoint(self, name: str, summary: str) -> Callable[[RowSelector], ViewMethod]:
        """Answer with the only row that a view's method selects, or with `missing`."""
        example = data_example("Current state", self.example)

        def decorate(method: RowSelector) -> ViewMethod:
            @read_endpoint(name, summary, self.row_output, example, raises=[self.missing])
            @for_brand(self.scope, self.label)
            @wraps(method)
            def get(view: BrandView, _request: Request, access: BrandAccess, **where: Any) -> Response:
                row = method(view, access, **where).first()
                if row is None:
                    raise self.missing
                return Response(self.row_output.serialize(row))

            return get

        return decorate
