"""The programme page: its figures, permissions, links and downloads, and a brand without points."""

import csv
import io
import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from core.errors import Unavailable
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.programme import roll_forward, rollups
from tests.loyalty.programme import histories
from tests.support import factories, portal

pytestmark = pytest.mark.django_db

PAGE = portal.address("loyalty.pointsrollup", "programme")


def get_page(brand: Brand, query: str = "", role: str = "owner") -> Any:
    response = portal.browser(portal.staff(brand, role=role)).get(f"{PAGE}{query}")
    assert response.status_code == 200
    return response


@pytest.fixture
def brand_with_history() -> Brand:
    brand = factories.brand(time_zone="Asia/Kolkata", points_expire="months", points_expire_after=6)
    factories.level(brand, "Bronze")
    histories.fill(brand, random.Random(1), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    return brand


def test_brand_without_points_sees_an_introduction() -> None:
    text = portal.text(get_page(factories.brand()))

    assert "No points yet" in text
    assert "Set the cost per point" in text


def test_outstanding_points_equal_the_sum_of_balances(brand_with_history: Brand) -> None:
    overview = get_page(brand_with_history).context["overview"]

    assert overview.figures.last.closing == sum(account.points for account in brand_with_history.members.all())


def test_figure_links_to_its_ledger_entries(brand_with_history: Brand) -> None:
    client = portal.browser(portal.staff(brand_with_history))
    overview = client.get(PAGE).context["overview"]

    checked = 0
    for row, month in zip(overview.roll_forward, reversed(overview.figures.months), strict=True):
        for cell, kind in zip(row.cells[1:-2], histories.OF_BALANCE, strict=True):
            if cell.link:
                entries = client.get(cell.link).context["cl"].queryset
                assert sum(entry.amount for entry in entries) == month.points[kind]
                assert {histories.movement_of(entry) for entry in entries} == {kind}
                checked += 1
    assert checked > 10


def test_level_links_to_its_members(brand_with_history: Brand) -> None:
    client = portal.browser(portal.staff(brand_with_history))
    level = client.get(PAGE).context["overview"].levels[0]

    assert f"{client.get(level.link).context['cl'].queryset.count():,}" == level.value


def test_figures_of_another_brand_are_not_visible(brand_with_history: Brand) -> None:
    other = factories.brand()

    context = get_page(other, f"?brand={brand_with_history.pk}").context

    assert context["brand"] == other
    assert context["overview"].figures.is_empty


def test_only_owners_and_managers_see_the_page() -> None:
    brand = factories.brand()

    statuses = {
        role: portal.browser(portal.staff(brand, role=role)).get(PAGE).status_code
        for role in ("owner", "manager", "support", "printer")
    }

    assert statuses == {"owner": 200, "manager": 200, "support": 403, "printer": 403}


def test_downloads_contain_the_displayed_months(brand_with_history: Brand) -> None:
    client = portal.browser(portal.staff(brand_with_history))
    this_month = timezone.now().astimezone(brand_with_history.zone).date().replace(day=1)
    previous_month = (this_month - timedelta(days=40)).replace(day=1)
    context = client.get(f"{PAGE}?first={previous_month:%Y-%m}&last={this_month:%Y-%m}").context

    rows = list(csv.DictReader(io.StringIO(client.get(context["downloads"]["csv"]).content.decode())))

    months = context["overview"].figures.months
    assert [row["month"] for row in rows] == [f"{month.month:%Y-%m}" for month in months]
    assert [Decimal(row["closing"]) for row in rows] == [month.closing for month in months]
    assert "Points roll-forward" in portal.text(client.get(context["downloads"]["pdf"]))


def test_pdf_that_cannot_be_made_returns_to_the_chosen_months(
    brand_with_history: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(**_document: Any) -> bytes:
        raise Unavailable

    monkeypatch.setattr(roll_forward, "as_pdf", reject)
    client, query = portal.browser(portal.staff(brand_with_history)), "?first=2026-01&last=2026-02"

    response = client.get(portal.address("loyalty.pointsrollup", "roll_forward_pdf") + query)

    assert response.headers["Location"] == f"{PAGE}{query}"


@pytest.mark.parametrize(
    "query", ["?first=2026-13", "?first=x&last=1", "?first=2026-05&last=2026-01", "?first=1970-01&last=2199-12"]
)
def test_invalid_months_are_form_errors_and_the_default_is_displayed(query: str) -> None:
    context = get_page(factories.brand(), query).context

    assert context["form"].errors
    assert len(context["overview"].figures.months) == 12


def test_future_months_are_not_displayed() -> None:
    this_month = timezone.now().date().replace(day=1)

    months = get_page(factories.brand(), "?first=2199-01&last=2199-12").context["overview"].figures.months

    assert [month.month for month in months] == [this_month]


def test_liability_is_in_the_brands_currency(brand_with_history: Brand) -> None:
    PointCost.objects.create(brand=brand_with_history, valid_from="2020-01-01", cost="0.01")
    brand_with_history.currency = "USD"
    brand_with_history.save()

    card = get_page(brand_with_history).context["overview"].cards[1]

    outstanding = sum((account.points for account in brand_with_history.members.all()), Decimal(0))
    assert card.value == f"{round(outstanding * Decimal('0.01'), 2):,} USD"


def test_only_one_point_cost_can_begin_on_a_day() -> None:
    brand = factories.brand()
    client = portal.browser(portal.staff(brand))
    form_data = {"brand": brand.pk, "valid_from": "2026-01-01", "cost": "0.01"}

    first = client.post(portal.address("loyalty.pointcost", "add"), form_data)
    second = client.post(portal.address("loyalty.pointcost", "add"), form_data)

    assert first.status_code == 302
    assert "already begins on this day" in portal.text(second)
    assert PointCost.objects.get(brand=brand).cost == Decimal("0.01")


def test_every_ledger_entry_has_exactly_one_movement(brand_with_history: Brand) -> None:
    client = portal.browser(portal.staff(brand_with_history))

    counts = {
        kind: client.get(f"{portal.address('loyalty.loyaltytransaction')}?movement={kind}")
        .context["cl"]
        .queryset.count()
        for kind in histories.KINDS
    }

    assert min(count for kind, count in counts.items() if kind not in histories.MERGES) > 0
    assert sum(counts.values()) == LoyaltyTransaction.objects.filter(user_point__brand=brand_with_history).count()
