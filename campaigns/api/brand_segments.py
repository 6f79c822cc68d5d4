"""The brand's segments over HTTP, for its own systems and staff."""

from django.db.models import QuerySet
from rest_framework import serializers

from brands.access.brand_access import BrandAccess
from brands.access.endpoints import BrandView, ModelEndpoints
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


SEGMENTS = ModelEndpoints(LABEL, BrandSegmentOutput, EXAMPLE)


class BrandSegments(BrandView):
    """The brand's segments."""

    @SEGMENTS.list_endpoint("list_segments", "List segments")
    def get(self, access: BrandAccess) -> QuerySet[Segment]:
        """List the brand's segments with their numbers of members. Needs the scope `read`.

        To list the members of a segment, use `GET /brand/members?segment=`.
        """
        return Segment.objects.filter(brand=access.brand_id)


class BrandSegment(BrandView):
    """One of the brand's segments."""

    @SEGMENTS.row_endpoint("read_segment", "Read a segment")
    def get(self, access: BrandAccess, segment_id: int) -> QuerySet[Segment]:
        """Return a segment, its number of members, and when they were counted. Needs the scope `read`."""
        return Segment.objects.filter(brand=access.brand_id, pk=segment_id)
