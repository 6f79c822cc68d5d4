"""Segments by birthdays: who is in them is another the next day, without anybody doing anything."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns.segments import member_conditions
from loyalty.members import profile
from loyalty.points import birthdays
from tests.campaigns.segments.test_evaluation import evaluated, members
from tests.support import factories

pytestmark = pytest.mark.django_db


def soon(brand):
    return factories.segment(brand, ("days_until_birthday", "at_most", 7))


def test_members_come_and_go_with_the_days(brand, customer):
    now = timezone.now()
    day = now.astimezone(brand.zone) + timedelta(days=9)
    birthdays.change(customer.pk, brand.pk, text=f"{day:%m-%d}", at=now)
    segment = soon(brand)

    seen = []
    for days in (0, 2, 9, 10):
        evaluated(segment, at=now + timedelta(days=days))
        seen.append(customer.pk in members(segment))

    assert seen == [False, True, True, False]


def test_whoever_enters_a_birthday_comes_in_and_whoever_deletes_it_goes(brand, customer):
    segment = soon(brand)
    evaluated(segment)
    today = f"{timezone.now().astimezone(brand.zone):%m-%d}"

    seen = []
    for text in (today, ""):
        profile.change(
            user_id=customer.pk, brand_id=brand.pk, fields={"birthday": text}, switches=None, at=timezone.now()
        )
        evaluated(segment)
        seen.append(customer.pk in members(segment))

    assert seen == [True, False]


@pytest.mark.parametrize(("year", "matches"), [(2026, True), (2028, False)])
def test_29_february_is_the_28th_in_other_years(brand, year, matches):
    data = {"all": [{"field": "days_until_birthday", "operator": "is", "value": 0}]}
    plan = member_conditions.plan_of(data, brand=brand, at=datetime(year, 2, 28, 12, tzinfo=UTC))

    [days] = [value for value in plan.parameters.values() if isinstance(value, list)]
    assert (229 in days) is matches


@pytest.mark.parametrize(("year", "day"), [(2026, 28), (2027, 28), (2028, 28), (2028, 29)])
def test_every_birthday_of_a_year_is_some_days_away(brand, year, day):
    data = {"all": [{"field": "days_until_birthday", "operator": "at_least", "value": 0}]}
    plan = member_conditions.plan_of(data, brand=brand, at=datetime(year, 2, day, 12, tzinfo=UTC))

    [days] = [value for value in plan.parameters.values() if isinstance(value, list)]
    assert len(days) == 366
