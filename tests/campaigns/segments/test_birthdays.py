"""Segments by birthdays, whose members change from day to day without any action."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns.segments import member_conditions
from loyalty.members import profile
from loyalty.points import birthdays
from tests.campaigns.segments.test_evaluation import evaluate_segment, member_ids
from tests.support import factories

pytestmark = pytest.mark.django_db


def birthday_segment(brand):
    return factories.segment(brand, ("days_until_birthday", "at_most", 7))


def test_members_join_and_leave_as_days_pass(brand, customer):
    now = timezone.now()
    day = now.astimezone(brand.zone) + timedelta(days=9)
    birthdays.change(customer.pk, brand.pk, text=f"{day:%m-%d}", at=now)
    segment = birthday_segment(brand)

    results = []
    for days in (0, 2, 9, 10):
        evaluate_segment(segment, at=now + timedelta(days=days))
        results.append(customer.pk in member_ids(segment))

    assert results == [False, True, True, False]


def test_entering_a_birthday_adds_the_member_and_deleting_it_removes_them(brand, customer):
    segment = birthday_segment(brand)
    evaluate_segment(segment)
    today = f"{timezone.now().astimezone(brand.zone):%m-%d}"

    results = []
    for text in (today, ""):
        profile.change(
            user_id=customer.pk, brand_id=brand.pk, fields={"birthday": text}, switches=None, at=timezone.now()
        )
        evaluate_segment(segment)
        results.append(customer.pk in member_ids(segment))

    assert results == [True, False]


@pytest.mark.parametrize(("year", "matches"), [(2026, True), (2028, False)])
def test_29_february_counts_as_the_28th_outside_leap_years(brand, year, matches):
    data = {"all": [{"field": "days_until_birthday", "operator": "is", "value": 0}]}
    plan = member_conditions.plan_of(data, brand=brand, at=datetime(year, 2, 28, 12, tzinfo=UTC))

    [days] = [value for value in plan.parameters.values() if isinstance(value, list)]
    assert (229 in days) is matches


@pytest.mark.parametrize(("year", "day"), [(2026, 28), (2027, 28), (2028, 28), (2028, 29)])
def test_every_possible_birthday_is_covered(brand, year, day):
    data = {"all": [{"field": "days_until_birthday", "operator": "at_least", "value": 0}]}
    plan = member_conditions.plan_of(data, brand=brand, at=datetime(year, 2, day, 12, tzinfo=UTC))

    [days] = [value for value in plan.parameters.values() if isinstance(value, list)]
    assert len(days) == 366
