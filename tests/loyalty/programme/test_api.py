"""The brand API of the programme: the figures of the page, month by month."""

import random
from datetime import date
from typing import Any

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.programme.costs import PointCost
from loyalty.programme import rollups
from loyalty.programme.movements import OF_BALANCE
from tests.loyalty.programme import histories
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand() -> Brand:
    brand = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=6)
    factories.level(brand, "Bronze")
    histories.fill(brand, random.Random(1), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    return brand


def get_programme(api: Any, **query: str) -> Any:
    return api.hub().get("brand/programme", **query)


def test_months_are_continuous_and_end_at_the_members_balances(api: Any, brand: Brand) -> None:
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    data = get_programme(api).json()["data"]

    months = data["months"]
    assert len(months) == 12
    for month, following in zip(months, [*months[1:], None], strict=True):
        change = sum(movement.sign * month["movements"][movement.name] for movement in OF_BALANCE)
        assert round(month["opening"] + change, 2) == month["closing"]
        assert following is None or following["opening"] == month["closing"]
    assert data["outstanding"] == months[-1]["closing"]
    assert data["outstanding"] == float(sum(account.points for account in brand.members.all()))
    assert data["liability"] == pytest.approx(data["outstanding"] * 0.01, abs=0.005)
    assert [row["level"] for row in data["levels"]][:1] in (["Bronze"], [""])
    assert data["currency"] == brand.currency


def test_brand_without_members_has_empty_figures(api: Any, db: None) -> None:
    brand = factories.brand()

    data = api.hub(brand=brand).get("brand/programme").json()["data"]

    assert (data["outstanding"], data["liability"], data["redemption_rate"]) == (0, None, None)
    assert (data["members"], data["expiring"], data["counted_at"]) == ([], [], None)


def test_months_are_those_of_the_requested_days(api: Any, brand: Brand) -> None:
    data = get_programme(api, **{"from": "2026-01-31", "to": "2026-03-01"}).json()["data"]

    assert [date.fromisoformat(line["month"]).month for line in data["months"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "2026-02-30"}, "from"),
        ({"from": ""}, "from"),
        ({"to": "x"}, "to"),
        ({"from": "2026-03-01", "to": "2026-02-01"}, "to"),
        ({"from": "2000-01-01", "to": "2026-01-01"}, "from"),
        ({"from": "0001-01-01"}, "from"),
        ({"to": "9999-12-31"}, "from"),
        ({"limit": "1"}, "limit"),
        ({"first": "2026-01-01"}, "first"),
    ],
)
def test_invalid_parameter_is_rejected_by_name(api: Any, brand: Brand, query: dict[str, str], field: str) -> None:
    response = get_programme(api, **query)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert response.json()["details"] == {"field": field}
