"""The roll-forward equals the ledger exactly: at the ends of months, in any zone and after late entries."""

import csv
import io
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pypdf import PdfReader

from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.models.programme.rollups import PointsRollup
from loyalty.programme import consistency, roll_forward, rollups
from loyalty.programme.roll_forward import Month
from tests.loyalty.programme import histories
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = ["Asia/Kolkata", "America/Los_Angeles", "Pacific/Kiritimati", "UTC"]


def months_of(brand: Brand, *, back: int = 9) -> tuple[date, date]:
    last = brand.day_at(timezone.now()).replace(day=1)
    return (last - timedelta(days=30 * back)).replace(day=1), last


def roll_forward_of(brand: Brand) -> list[tuple[date, Decimal, dict[str, Decimal], Decimal]]:
    first, last = months_of(brand)
    months = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())
    return [(month.month, month.opening, dict(month.points), month.closing) for month in months]


def sum_of_balances(brand: Brand) -> Decimal:
    return sum((account.points for account in brand.members.all()), Decimal(0))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("seed", range(2))
def test_roll_forward_equals_the_ledger_whether_live_or_rolled_up(zone: str, seed: int) -> None:
    brand = factories.brand(time_zone=zone)
    histories.fill(brand, random.Random(f"{zone}{seed}"), now=timezone.now())
    expected = histories.book(brand, *months_of(brand))

    live = roll_forward_of(brand)
    rollups.catch_up(brand=brand, at=timezone.now())
    rolled_up = roll_forward_of(brand)

    assert live == expected
    assert rolled_up == expected
    assert rolled_up[-1][3] == sum_of_balances(brand)
    assert PointsRollup.objects.filter(brand=brand).exists()
    assert list(consistency.differences()) == []


def test_each_month_opens_with_the_closing_balance_of_the_month_before() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(7), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())

    rows = roll_forward_of(brand)

    assert [row[1] for row in rows[1:]] == [row[3] for row in rows[:-1]]


def test_late_entry_changes_the_month_to_which_it_belongs() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    rng = random.Random(3)
    histories.fill(brand, rng, now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    account = brand.members.first()
    assert account is not None

    histories.entry(account, "adjusted_up", Decimal("12.34"), timezone.now() - timedelta(days=100))
    before = roll_forward_of(brand)
    rollups.catch_up(brand=brand, at=timezone.now())
    after = roll_forward_of(brand)

    expected = histories.book(brand, *months_of(brand))
    assert before != expected  # the entry is not read live, because its day is closed
    assert after == expected
    assert list(consistency.differences()) == []


def test_changed_time_zone_moves_entries_to_the_months_of_the_new_zone() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    histories.fill(brand, random.Random(5), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())

    brand.time_zone = "America/Los_Angeles"
    brand.save()
    expected = histories.book(brand, *months_of(brand))

    assert roll_forward_of(brand) == expected  # live
    rollups.catch_up(brand=brand, at=timezone.now())
    assert roll_forward_of(brand) == expected


def test_consistency_check_finds_a_wrong_rollup() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(2), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    row = PointsRollup.objects.filter(brand=brand).first()
    assert row is not None
    PointsRollup.objects.filter(pk=row.pk).update(points=row.points + Decimal("0.01"))

    findings = list(consistency.differences())

    assert [each.subject for each in findings] == [f"brand {brand.pk}, {row.day}, {row.movement}"]


def test_roll_forward_excludes_points_of_another_brand() -> None:
    brand, other = factories.brand(), factories.brand()
    histories.fill(other, random.Random(1), now=timezone.now())
    rollups.catch_up_all(at=timezone.now())

    assert {row[3] for row in roll_forward_of(brand)} == {Decimal(0)}
    assert roll_forward_of(other) == histories.book(other, *months_of(other))


def test_cost_of_a_month_is_the_one_valid_on_its_last_day() -> None:
    brand = factories.brand(currency="JPY")
    first, last = months_of(brand, back=3)
    account = histories.member(brand, enrolled_at=noon_on(brand, first))
    histories.entry(account, "earned", Decimal("100.50"), noon_on(brand, first))
    PointCost.objects.create(brand=brand, valid_from=first + timedelta(days=1), cost=Decimal("0.01"))
    PointCost.objects.create(brand=brand, valid_from=last, cost=Decimal("0.5"))
    month_before = (first - timedelta(days=1)).replace(day=1)

    months = roll_forward.months(brand=brand, first=month_before, last=last, at=timezone.now())

    assert [(months[0].cost, months[0].liability)] == [(None, None)]
    assert [month.cost for month in months[1:-1]] == [Decimal("0.01")] * (len(months) - 2)
    assert months[1].liability == Decimal(1)  # yen have no decimals
    assert (months[-1].cost, months[-1].liability) == (Decimal("0.5"), Decimal(50))


def test_csv_rows_add_up() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(9), now=timezone.now())
    first, last = months_of(brand)
    months = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())

    text = roll_forward.as_csv(months).decode()
    rows = list(csv.DictReader(io.StringIO(text)))

    names = text.splitlines()[0].split(",")
    assert len(names) == len(set(names))
    assert len(rows) == len(months)
    for row, month in zip(rows, months, strict=True):
        change = sum(Decimal(row[name]) for name in histories.OF_BALANCE)
        assert Decimal(row["opening"]) + change == Decimal(row["closing"]) == month.closing
    assert Decimal(rows[-1]["pending"]) == sum(account.points_pending for account in brand.members.all())
    assert (
        sum(int(row["entries"]) for row in rows) == LoyaltyTransaction.objects.filter(user_point__brand=brand).count()
    )


def noon_on(brand: Brand, day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=brand.zone)


def formatted_balances(month: Month) -> list[str]:
    return [f"{month.opening:,.2f}", f"{month.closing:,.2f}"]


def test_pdf_contains_the_balances_of_each_month() -> None:
    brand = factories.brand(name="Alpine")
    histories.fill(brand, random.Random(4), now=timezone.now())
    first, last = months_of(brand, back=2)
    months = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())

    pdf = roll_forward.as_pdf(brand=brand, lines=months, at=timezone.now())

    text = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)
    assert "Alpine" in text
    for month in months:
        for number in formatted_balances(month):
            assert number in text
