"""Answers that output serializers write, and parameters that filter lists."""

import ast
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import django_filters
import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from authcodes.models.codes import AuthCode
from core.api.filters import ChoiceFilter, DayFilter, TenantFilterSet
from core.api.outputs import DoneOutput, Output, PointsField, SuccessField, TimestampField
from core.errors import Invalid

ROOT = Path(__file__).parents[3]


class LineOutput(Output):
    points = PointsField(allow_null=True)
    at = TimestampField(allow_null=True)


class LinesOutput(Output):
    success = SuccessField()
    data = LineOutput(many=True, source="rows")


NOON = datetime(2026, 3, 14, 12, 0, 0, 589123, tzinfo=UTC)


@pytest.mark.parametrize(
    ("points", "expected"), [("20.0000", 20), ("0.50", 0.5), ("1000000", 1000000), (None, None)], ids=str
)
def test_whole_points_are_serialized_as_integers(points, expected):
    value = LineOutput.serialize({"points": points and Decimal(points), "at": None})["points"]

    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=13))])
def test_timestamps_are_in_utc_with_milliseconds(zone):
    assert LineOutput.serialize({"points": None, "at": NOON.astimezone(zone)})["at"] == "2026-03-14T12:00:00.589Z"


def test_fields_follow_the_order_of_the_serializer():
    answer = LinesOutput.serialize({"rows": [{"at": NOON, "points": Decimal(1)}]})

    assert answer == {"success": True, "data": [{"points": 1, "at": "2026-03-14T12:00:00.589Z"}]}
    assert [list(answer), list(answer["data"][0])] == [["success", "data"], ["points", "at"]]


def test_serializer_retains_no_state_between_answers():
    assert LinesOutput.serialize({"rows": []}) == {"success": True, "data": []}
    assert len(LinesOutput.serialize({"rows": [{"points": None, "at": None}]})["data"]) == 1
    assert LinesOutput.serialize({"rows": []})["data"] == []


def test_done_output_needs_no_value():
    assert DoneOutput.serialize(None) == {"success": True}


def test_filters_of_the_django_filters_library_are_rejected():
    """They could follow relations of the model to any other table."""
    with pytest.raises(TypeError, match=r"Loose\.moment is no filter"):
        type("Loose", (TenantFilterSet,), {"moment": django_filters.IsoDateTimeFilter()})


class KindFilter(TenantFilterSet):
    in_ = ChoiceFilter(values=["a", "b"], description="Where.")
    on = DayFilter(description="When.")


def test_parameter_name_drops_the_trailing_underscore():
    assert [each.name for each in KindFilter.parameters()] == ["in", "on"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"in": "c"}, "in is a or b."),
        ({"in": ""}, "in must not be empty. Leave it out to list everything."),
        ({"on": "20260301"}, "on must be a day such as 2026-03-01."),
        ({"on": "٢٠٢٦-٠٣-٠١"}, "on must be a day such as 2026-03-01."),
    ],
)
def test_error_message_names_the_parameter(query, message):
    with pytest.raises(Invalid) as error:
        KindFilter.of(Request(RequestFactory().get("/", query)), AuthCode.objects.all())

    assert (error.value.message, error.value.details) == (message, {"field": next(iter(query))})


def test_only_listed_views_write_their_answers_by_hand():
    """The hot answers (test_hot_answers.py), and those of the endpoints whose format Apple defines."""
    by_hand = [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.glob("*/api/*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Response"
        if node.args and isinstance(node.args[0], ast.Dict)
    ]

    assert by_hand == ["campaigns/api/campaign_event.py", "loyalty/api/passkit.py"]
