"""The programme's books over the brand's API: the figures of the page, month by month."""

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
    made = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=6)
    factories.level(made, "Bronze")
    histories.fill(made, random.Random(1), now=timezone.now())
    rollups.catch_up(brand=made, at=timezone.now())
    return made


def read(api: Any, **query: str) -> Any:
    return api.hub().get("brand/programme", **query)


def test_each_month_goes_on_from_the_one_before_up_to_what_members_hold(api: Any, brand: Brand) -> None:
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    found = read(api).json()["data"]

    months = found["months"]
    assert len(months) == 12
    for line, following in zip(months, [*months[1:], None], strict=True):
        moved = sum(each.sign * line["movements"][each.name] for each in OF_BALANCE)
        assert round(line["opening"] + moved, 2) == line["closing"]
        assert following is None or following["opening"] == line["closing"]
    assert found["outstanding"] == months[-1]["closing"]
    assert found["outstanding"] == float(sum(account.points for account in brand.members.all()))
    assert found["liability"] == pytest.approx(found["outstanding"] * 0.01, abs=0.005)
    assert [row["level"] for row in found["levels"]][:1] in (["Bronze"], [""])
    assert found["currency"] == brand.currency


def test_a_brand_where_nothing_happened_has_a_month_of_nothing(api: Any, db: None) -> None:
    brand = factories.brand()

    found = api.hub(of=brand).get("brand/programme").json()["data"]

    assert (found["outstanding"], found["liability"], found["redemption_rate"]) == (0, None, None)
    assert (found["members"], found["expiring"], found["counted_at"]) == ([], [], None)


def test_the_months_asked_for_are_those_of_the_days(api: Any, brand: Brand) -> None:
    found = read(api, **{"from": "2026-01-31", "to": "2026-03-01"}).json()["data"]

    assert [date.fromisoformat(line["month"]).month for line in found["months"]] == [1, 2, 3]


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
def test_months_that_are_none_are_refused_by_name(api: Any, brand: Brand, query: dict[str, str], field: str) -> None:
    refused = read(api, **query)

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert refused.json()["details"] == {"field": field}
