"""Answers as serializers write them, and lists as their filters narrow them."""

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
    ("points", "shown"), [("20.0000", 20), ("0.50", 0.5), ("1000000", 1000000), (None, None)], ids=str
)
def test_whole_points_have_no_fraction(points, shown):
    found = LineOutput.serialize({"points": points and Decimal(points), "at": None})["points"]

    assert (found, type(found)) == (shown, type(shown))


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=13))])
def test_moments_are_in_utc_with_milliseconds(zone):
    assert LineOutput.serialize({"points": None, "at": NOON.astimezone(zone)})["at"] == "2026-03-14T12:00:00.589Z"


def test_answer_has_its_fields_in_the_order_of_the_serializer():
    found = LinesOutput.serialize({"rows": [{"at": NOON, "points": Decimal(1)}]})

    assert found == {"success": True, "data": [{"points": 1, "at": "2026-03-14T12:00:00.589Z"}]}
    assert [list(found), list(found["data"][0])] == [["success", "data"], ["points", "at"]]


def test_serializer_keeps_nothing_of_an_answer():
    assert LinesOutput.serialize({"rows": []}) == {"success": True, "data": []}
    assert len(LinesOutput.serialize({"rows": [{"points": None, "at": None}]})["data"]) == 1
    assert LinesOutput.serialize({"rows": []})["data"] == []


def test_what_is_done_needs_no_value():
    assert DoneOutput.serialize(None) == {"success": True}


def test_filters_of_a_model_are_refused():
    """They would lead wherever its columns lead."""
    with pytest.raises(TypeError, match=r"Loose\.moment is no filter"):
        type("Loose", (TenantFilterSet,), {"moment": django_filters.IsoDateTimeFilter()})


class KindFilter(TenantFilterSet):
    in_ = ChoiceFilter(values=["a", "b"], description="Where.")
    on = DayFilter(description="When.")


def test_parameter_is_called_as_its_filter_without_the_underscore():
    assert [each.name for each in KindFilter.parameters()] == ["in", "on"]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ({"in": "c"}, "in is a or b."),
        ({"in": ""}, "in must not be empty. Leave it out to list everything."),
        ({"on": "20260301"}, "on must be a day such as 2026-03-01."),
        ({"on": "٢٠٢٦-٠٣-٠١"}, "on must be a day such as 2026-03-01."),
    ],
)
def test_complaint_names_the_parameter(query, complaint):
    with pytest.raises(Invalid) as refusal:
        KindFilter.of(Request(RequestFactory().get("/", query)), AuthCode.objects.all())

    assert (refusal.value.message, refusal.value.details) == (complaint, {"field": next(iter(query))})


def test_views_answer_with_what_their_serializers_wrote():
    """All but the hot ones (test_hot_answers.py), and Apple's own addresses, whose answers are Apple's."""
    by_hand = [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.glob("*/api/*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Response"
        if node.args and isinstance(node.args[0], ast.Dict)
    ]

    assert by_hand == ["campaigns/api/campaign_event.py", "loyalty/api/passkit.py"]
