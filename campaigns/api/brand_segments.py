"""The brand's segments over HTTP, for its own systems and staff."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import (
    BrandList,
    BrandView,
    list_endpoint,
    list_output,
    row_endpoint,
    row_of,
    row_output,
)
from brands.models.credentials import ApiKey
from core.api.filters import NoFilter
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField
from loyalty.models.programme.segments import Segment

LABEL = "loyalty.segment"
EXAMPLE = {
    "id": 4,
    "name": "Gold and silent",
    "conditions": {
        "all": [
            {"field": "level", "operator": "in", "value": ["Gold"]},
            {"field": "days_since_last", "operator": "at_least", "value": 60},
        ]
    },
    "members": 1830,
    "evaluated_at": WHEN,
}


class BrandSegmentOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    conditions = serializers.DictField(help_text="Groups of conditions, of which `all`, `any` or `none` must be true.")
    members = serializers.IntegerField(
        source="member_count", allow_null=True, help_text="The number of members at `evaluated_at`."
    )
    evaluated_at = TimestampField(
        allow_null=True,
        help_text="When the members were last counted. Null for a new segment, which is evaluated within a minute.",
    )


BrandSegmentListOutput = list_output(BrandSegmentOutput)
BrandSegmentRowOutput = row_output(BrandSegmentOutput)


class BrandSegments(BrandList):
    """The brand's segments."""

    filterset_class = NoFilter
    output = BrandSegmentListOutput

    @list_endpoint("list_segments", "List segments", BrandSegmentListOutput, EXAMPLE, filters=NoFilter)
    @for_brand(ApiKey.Scope.READ, LABEL)
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List the brand's segments with their numbers of members. Needs the scope `read`.

        To list the members of a segment, use `GET /brand/members?segment=`.
        """
        return self.listed(Segment.objects.filter(brand=access.brand_id))


class BrandSegment(BrandView):
    """One of the brand's segments."""

    @row_endpoint("read_segment", "Read a segment", BrandSegmentRowOutput, EXAMPLE)
    @for_brand(ApiKey.Scope.READ, LABEL)
    def get(self, _request: Request, access: BrandAccess, segment_id: int) -> Response:
        """Return a segment, its number of members, and when they were counted. Needs the scope `read`."""
        row = row_of(Segment.objects.filter(brand=access.brand_id), pk=segment_id)
        return Response(BrandSegmentRowOutput.serialize(row))
