"""The programme page: its figures, whose they are, where they lead, and what it says where there is nothing."""

import csv
import io
import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.programme import rollups
from tests.loyalty.programme import histories
from tests.support import factories, portal

pytestmark = pytest.mark.django_db

PAGE = portal.address("loyalty.pointsrollup", "programme")


def shown(brand: Brand, query: str = "", role: str = "owner") -> Any:
    response = portal.browser(portal.staff(brand, role=role)).get(f"{PAGE}{query}")
    assert response.status_code == 200
    return response


@pytest.fixture
def filled() -> Brand:
    brand = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=6)
    factories.level(brand, "Bronze")
    histories.fill(brand, random.Random(1), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    return brand


def test_an_empty_brand_is_told_what_belongs_here() -> None:
    text = portal.text(shown(factories.brand()))

    assert "No points yet" in text
    assert "Set the cost per point" in text


def test_outstanding_points_are_those_on_balances(filled: Brand) -> None:
    page = shown(filled).context["overview"]

    assert page.figures.last.closing == sum(account.points for account in filled.members.all())


def test_a_figure_leads_to_its_rows(filled: Brand) -> None:
    person = portal.browser(portal.staff(filled))
    page = person.get(PAGE).context["overview"]

    checked = 0
    for row, month in zip(page.roll_forward, reversed(page.figures.months), strict=True):
        for cell, kind in zip(row.cells[1:-2], histories.OF_BALANCE, strict=True):
            if cell.link:
                lines = person.get(cell.link).context["cl"].queryset
                assert sum(line.amount for line in lines) == month.points[kind]
                assert {histories.movement_of(line) for line in lines} == {kind}
                checked += 1
    assert checked > 10


def test_a_level_leads_to_its_members(filled: Brand) -> None:
    person = portal.browser(portal.staff(filled))
    level = person.get(PAGE).context["overview"].levels[0]

    assert f"{person.get(level.link).context['cl'].queryset.count():,}" == level.value


def test_another_brands_figures_are_unknown(filled: Brand) -> None:
    other = factories.brand()

    page = shown(other, f"?brand={filled.pk}").context

    assert page["brand"] == other
    assert page["overview"].figures.is_empty


def test_who_may_see_it() -> None:
    brand = factories.brand()

    seen = {
        role: portal.browser(portal.staff(brand, role=role)).get(PAGE).status_code
        for role in ("owner", "manager", "support", "printer")
    }

    assert seen == {"owner": 200, "manager": 200, "support": 403, "printer": 403}


def test_the_downloads_are_of_the_months_that_are_shown(filled: Brand) -> None:
    person = portal.browser(portal.staff(filled))
    this_month = timezone.now().astimezone(filled.zone).date().replace(day=1)
    before = (this_month - timedelta(days=40)).replace(day=1)
    page = person.get(f"{PAGE}?first={before:%Y-%m}&last={this_month:%Y-%m}").context

    rows = list(csv.DictReader(io.StringIO(person.get(page["downloads"]["csv"]).content.decode())))

    months = page["overview"].figures.months
    assert [row["month"] for row in rows] == [f"{month.month:%Y-%m}" for month in months]
    assert [Decimal(row["closing"]) for row in rows] == [month.closing for month in months]
    assert "Points roll-forward" in portal.text(person.get(page["downloads"]["pdf"]))


@pytest.mark.parametrize(
    "query", ["?first=2026-13", "?first=x&last=1", "?first=2026-05&last=2026-01", "?first=1970-01&last=2199-12"]
)
def test_months_that_cannot_be_are_said_at_their_field(query: str) -> None:
    page = shown(factories.brand(), query).context

    assert page["form"].errors
    assert len(page["overview"].figures.months) == 12


def test_months_to_come_are_not_shown() -> None:
    this_month = timezone.now().date().replace(day=1)

    months = shown(factories.brand(), "?first=2199-01&last=2199-12").context["overview"].figures.months

    assert [month.month for month in months] == [this_month]


def test_the_liability_is_in_the_brands_currency(filled: Brand) -> None:
    PointCost.objects.create(brand=filled, valid_from="2020-01-01", cost="0.01")
    filled.currency = "USD"
    filled.save()

    card = shown(filled).context["overview"].cards[1]

    closing = sum((account.points for account in filled.members.all()), Decimal(0))
    assert card.value == f"{round(closing * Decimal('0.01'), 2):,} USD"


def test_one_cost_begins_on_a_day() -> None:
    brand = factories.brand()
    person = portal.browser(portal.staff(brand))
    sent = {"brand": brand.pk, "valid_from": "2026-01-01", "cost": "0.01"}

    first = person.post(portal.address("loyalty.pointcost", "add"), sent)
    second = person.post(portal.address("loyalty.pointcost", "add"), sent)

    assert first.status_code == 302
    assert "already begins on this day" in portal.text(second)
    assert PointCost.objects.get(brand=brand).cost == Decimal("0.01")


def test_every_entry_has_one_movement(filled: Brand) -> None:
    person = portal.browser(portal.staff(filled))

    counted = {
        kind: person.get(f"{portal.address('loyalty.loyaltytransaction')}?movement={kind}")
        .context["cl"]
        .queryset.count()
        for kind in histories.KINDS
    }

    assert min(count for kind, count in counted.items() if kind not in histories.MERGES) > 0
    assert sum(counted.values()) == LoyaltyTransaction.objects.filter(user_point__brand=filled).count()
