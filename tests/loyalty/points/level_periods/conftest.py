"""Fixtures and helpers: a brand whose levels have periods, and its members."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from brands.models.tenants import Brand
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import LevelChange
from loyalty.points import consistency
from loyalty.points.level_periods import consistency as level_consistency
from loyalty.points.level_periods import run
from loyalty.points.level_periods.raising import raise_level
from tests.support import factories


class Programme:
    """A brand with level periods: Bronze from 0, Silver from 100, Gold from 500 points."""

    def __init__(self, **fields: Any) -> None:
        self.brand = factories.brand(**{"level_period": "year", "time_zone": "Europe/Berlin", **fields})
        for name, threshold in (("Bronze", 0), ("Silver", 100), ("Gold", 500)):
            factories.level(self.brand, name, threshold)
        if self.brand.level_period != "lifetime":
            self.night(on("2025-01-01"))

    def member(self) -> UserPoints:
        customer = factories.customer(self.brand)
        return factories.account(customer, self.brand)

    def earn(self, member: UserPoints, points: Any, at: datetime, reason_id: str = "") -> UserPoints:
        """Credit points and raise the level, as an adjustment by staff does."""
        factories.points(member.user, self.brand, points, at=at, reason_id=reason_id)
        member.refresh_from_db()
        raise_level(
            brand=self.brand,
            account=member.pk,
            level=member.current_level,
            lifetime=member.lifetime,
            gained=Decimal(points),
            at=at,
        )
        member.refresh_from_db()
        return member

    def night(self, at: datetime) -> int:
        return run.catch_up(at=at)

    def set(self, **fields: Any) -> None:
        Brand.objects.filter(pk=self.brand.pk).update(**fields)
        self.brand.refresh_from_db()

    def history(self, member: UserPoints) -> list[tuple[str, str, str]]:
        rows = LevelChange.objects.filter(user_point=member).order_by("id")
        return list(rows.values_list("level_before", "level_after", "reason"))


@pytest.fixture
def new_programme(db):
    return Programme


def on(day: str, hour: int = 12) -> datetime:
    return datetime.fromisoformat(day).replace(hour=hour, tzinfo=UTC)


def assert_ledger_is_consistent() -> None:
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **level_consistency.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


def level_of(member):
    member.refresh_from_db()
    return member.current_level, member.period_points, member.level_until


def payloads_of(brand, template):
    events = Event.objects.filter(brand=brand, detail_type="notify").order_by("id")
    return [event.detail["payload"] for event in events if event.detail["payload"]["template"] == template]
