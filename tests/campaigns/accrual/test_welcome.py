"""Welcome points: once for each new member of a brand with such a rule, even if a process dies."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.accrual import welcome
from campaigns.models.earning_rules import EarningRule
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import texts_of
from tests.campaigns.earning.earning_rules import rule
from tests.support import factories
from tests.support.concurrency import run_concurrently

pytestmark = pytest.mark.django_db


def welcome_rule(brand, value=50, **fields):
    started = timezone.now() - timedelta(days=1)
    return rule(brand, "member-welcome", value, "points", name="Welcome", state_changed_at=started, **fields)


def earned():
    return list(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def test_a_new_member_gets_welcome_points_once(brand, customer):
    welcome_rule(brand)

    published = [welcome.publish_welcomes(at=timezone.now()) for _ in range(2)]
    worker.drain()

    assert published == [1, 0]
    assert earned() == [("welcome:member", 50)]
    entry = LoyaltyTransaction.objects.get()
    assert (entry.note, texts_of(entry.details, "en")) == ("Points for joining", ["Welcome: 50"])
    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_purged_welcome_event_is_not_published_again(brand, customer):
    welcome_rule(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()
    Event.objects.filter(detail_type="member-welcome").delete()  # as retention does

    assert welcome.publish_welcomes(at=timezone.now()) == 0
    assert earned() == [("welcome:member", 50)]


def test_many_new_members_are_welcomed_in_portions_newest_first(brand, monkeypatch):
    monkeypatch.setattr(welcome, "CHUNK", 2)
    monkeypatch.setattr(welcome, "MAX_PUBLISHED", 3)
    welcome_rule(brand)
    new_members = [factories.customer(brand).pk for _ in range(6)]

    published = []
    for _call in range(3):
        published.append(welcome.publish_welcomes(at=timezone.now()))
        worker.drain()

    assert published == [4, 2, 0]
    events = Event.objects.filter(detail_type="member-welcome").order_by("pk")
    assert [event.detail["arguments"]["user_id"] for event in events] == new_members[::-1]
    assert len(earned()) == len(new_members)


def test_no_member_is_welcomed_without_an_active_rule(brand, customer):
    assert welcome.publish_welcomes(at=timezone.now()) == 0
    welcome_rule(brand, state="draft")
    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_inactive_programme_welcomes_no_member(brand, customer):
    welcome_rule(brand)
    Brand.objects.update(loyalty_active=False)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_rule_welcomes_no_members_of_another_brand(brand, customer):
    other = factories.brand()
    welcome_rule(other)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


@pytest.mark.parametrize("joined_ago", [timedelta(days=2), timedelta(days=5)])
def test_members_from_before_the_rule_are_not_welcomed(brand, customer, joined_ago):
    welcome_rule(brand)
    UserPoints.objects.update(enrolled_at=timezone.now() - joined_ago)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_members_who_joined_while_the_rule_was_paused_are_not_welcomed(brand, customer):
    now = timezone.now()
    resumed = welcome_rule(brand, starts_at=now - timedelta(days=90))
    EarningRule.objects.filter(pk=resumed.pk).update(state_changed_at=now)
    UserPoints.objects.update(enrolled_at=now - timedelta(hours=2))

    assert welcome.publish_welcomes(at=now) == 0


def test_member_with_an_opening_balance_is_not_welcomed(brand, customer):
    welcome_rule(brand)
    factories.points(customer, brand, 100, reason_id="opening:old")

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_rule_applies_by_the_time_of_joining(brand, customer):
    now = timezone.now()
    welcome_rule(brand, starts_at=now - timedelta(hours=3), ends_at=now - timedelta(hours=1))
    UserPoints.objects.update(enrolled_at=now - timedelta(hours=2))
    late_member = factories.customer(brand)
    welcome.publish_welcomes(at=now + timedelta(seconds=5))
    worker.drain()

    assert earned() == [("welcome:member", 50)]
    rejected = Event.objects.get(detail_type="member-welcome", status="refused")
    assert (rejected.detail["arguments"]["user_id"], rejected.outcome["error"]) == (late_member.pk, "NOT_ELIGIBLE")


def test_blocked_member_gets_no_welcome_points(brand, customer):
    welcome_rule(brand)
    UserPoints.objects.update(status="blocked")
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()

    assert earned() == []


@pytest.mark.django_db(transaction=True)
def test_concurrent_schedulers_publish_each_welcome_once():
    brand = factories.brand()
    customers = [factories.customer(brand) for _ in range(5)]
    welcome_rule(brand)

    published = run_concurrently(lambda _n: welcome.publish_welcomes(at=timezone.now()), range(4), threads=4)
    worker.drain()

    assert sum(published) == Event.objects.filter(detail_type="member-welcome").count() == len(customers)
    assert len(earned()) == len(customers)


def test_failing_brand_does_not_delay_members_of_other_brands(brand, customer, monkeypatch, caplog):
    """Brands are processed in any order, so each of them fails once."""
    other = factories.brand()
    factories.customer(other)
    for each in (brand, other):
        welcome_rule(each)
    portions = welcome._portions

    for failing_brand in (brand, other):

        def failing(brand_id, at, *, failing_brand=failing_brand):
            if brand_id == failing_brand.pk:
                raise ArithmeticError
            return portions(brand_id, at)

        monkeypatch.setattr(welcome, "_portions", failing)
        assert welcome.publish_welcomes(at=timezone.now()) == 1
        assert f"new members of the brand {failing_brand.slug} could not be welcomed" in caplog.text
