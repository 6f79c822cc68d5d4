"""The roll-forward equals the ledger to the cent: across the edges of months, in any zone, after late entries too."""

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
    last = timezone.now().astimezone(brand.zone).date().replace(day=1)
    return (last - timedelta(days=30 * back)).replace(day=1), last


def lines_of(brand: Brand) -> list[tuple[date, Decimal, dict[str, Decimal], Decimal]]:
    first, last = months_of(brand)
    lines = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())
    return [(line.month, line.opening, dict(line.points), line.closing) for line in lines]


def balances(brand: Brand) -> Decimal:
    return sum((account.points for account in brand.members.all()), Decimal(0))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("seed", range(2))
def test_it_equals_the_ledger_whether_rolled_up_or_live(zone: str, seed: int) -> None:
    brand = factories.brand(time_zone=zone)
    histories.fill(brand, random.Random(f"{zone}{seed}"), now=timezone.now())
    expected = histories.book(brand, *months_of(brand))

    live = lines_of(brand)
    rollups.catch_up(brand=brand, at=timezone.now())
    rolled_up = lines_of(brand)

    assert live == expected
    assert rolled_up == expected
    assert rolled_up[-1][3] == balances(brand)
    assert PointsRollup.objects.filter(brand=brand).exists()
    assert list(consistency.differences()) == []


def test_each_month_opens_as_the_one_before_closed() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(7), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())

    lines = lines_of(brand)

    assert [line[1] for line in lines[1:]] == [line[3] for line in lines[:-1]]


def test_an_entry_that_comes_late_changes_the_month_to_which_it_belongs() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    chance = random.Random(3)
    histories.fill(brand, chance, now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    account = brand.members.first()
    assert account is not None

    histories.entry(account, "adjusted_up", Decimal("12.34"), timezone.now() - timedelta(days=100))
    before = lines_of(brand)
    rollups.catch_up(brand=brand, at=timezone.now())
    after = lines_of(brand)

    expected = histories.book(brand, *months_of(brand))
    assert before != expected  # it is not read live: its day is closed
    assert after == expected
    assert list(consistency.differences()) == []


def test_a_brand_that_moves_to_another_zone_is_cut_anew() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    histories.fill(brand, random.Random(5), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())

    brand.time_zone = "America/Los_Angeles"
    brand.save()
    expected = histories.book(brand, *months_of(brand))

    assert lines_of(brand) == expected  # live
    rollups.catch_up(brand=brand, at=timezone.now())
    assert lines_of(brand) == expected


def test_the_check_finds_a_rollup_that_is_wrong() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(2), now=timezone.now())
    rollups.catch_up(brand=brand, at=timezone.now())
    row = PointsRollup.objects.filter(brand=brand).first()
    assert row is not None
    PointsRollup.objects.filter(pk=row.pk).update(points=row.points + Decimal("0.01"))

    found = list(consistency.differences())

    assert [each.subject for each in found] == [f"brand {brand.pk}, {row.day}, {row.movement}"]


def test_another_brands_points_are_in_none_of_its_lines() -> None:
    brand, other = factories.brand(), factories.brand()
    histories.fill(other, random.Random(1), now=timezone.now())
    rollups.catch_up_all(at=timezone.now())

    assert {line[3] for line in lines_of(brand)} == {Decimal(0)}
    assert lines_of(other) == histories.book(other, *months_of(other))


def test_the_cost_of_a_month_is_the_one_of_its_last_day() -> None:
    brand = factories.brand(currency="JPY")
    first, last = months_of(brand, back=3)
    account = histories.member(brand, enrolled_at=at(brand, first))
    histories.entry(account, "earned", Decimal("100.50"), at(brand, first))
    PointCost.objects.create(brand=brand, valid_from=first + timedelta(days=1), cost=Decimal("0.01"))
    PointCost.objects.create(brand=brand, valid_from=last, cost=Decimal("0.5"))
    before = (first - timedelta(days=1)).replace(day=1)

    lines = roll_forward.months(brand=brand, first=before, last=last, at=timezone.now())

    assert [(lines[0].cost, lines[0].liability)] == [(None, None)]
    assert [line.cost for line in lines[1:-1]] == [Decimal("0.01")] * (len(lines) - 2)
    assert lines[1].liability == Decimal(1)  # yen have no decimals
    assert (lines[-1].cost, lines[-1].liability) == (Decimal("0.5"), Decimal(50))


def test_a_line_of_the_csv_adds_up() -> None:
    brand = factories.brand()
    histories.fill(brand, random.Random(9), now=timezone.now())
    first, last = months_of(brand)
    lines = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())

    text = roll_forward.as_csv(lines).decode()
    rows = list(csv.DictReader(io.StringIO(text)))

    names = text.splitlines()[0].split(",")
    assert len(names) == len(set(names))
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        moved = sum(Decimal(row[name]) for name in histories.OF_BALANCE)
        assert Decimal(row["opening"]) + moved == Decimal(row["closing"]) == line.closing
    assert Decimal(rows[-1]["pending"]) == sum(account.points_pending for account in brand.members.all())
    assert (
        sum(int(row["entries"]) for row in rows) == LoyaltyTransaction.objects.filter(user_point__brand=brand).count()
    )


def at(brand: Brand, day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=brand.zone)


def numbers_of(line: Month) -> list[str]:
    return [f"{line.opening:,.2f}", f"{line.closing:,.2f}"]


def test_the_pdf_says_what_the_lines_say() -> None:
    brand = factories.brand(name="Alpine")
    histories.fill(brand, random.Random(4), now=timezone.now())
    first, last = months_of(brand, back=2)
    lines = roll_forward.months(brand=brand, first=first, last=last, at=timezone.now())

    made = roll_forward.as_pdf(brand=brand, lines=lines, at=timezone.now())

    text = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(made)).pages)
    assert "Alpine" in text
    for line in lines:
        for number in numbers_of(line):
            assert number in text
