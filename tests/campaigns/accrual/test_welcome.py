"""Welcome points: once for each new member of a brand with a rule for it, whoever is killed in between."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.accrual import welcome
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import texts_of
from tests.campaigns.earning.earning_rules import rule
from tests.support import factories
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db


def welcomed(brand, value=50, **fields):
    started = timezone.now() - timedelta(days=1)
    return rule(brand, "member-welcome", value, "points", name="Welcome", state_changed_at=started, **fields)


def earned():
    return list(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def test_a_new_member_gets_welcome_points_once(brand, customer):
    welcomed(brand)

    published = [welcome.publish_welcomes(at=timezone.now()) for _ in range(2)]
    worker.drain()

    assert published == [1, 0]
    assert earned() == [("welcome:member", 50)]
    line = LoyaltyTransaction.objects.get()
    assert (line.note, texts_of(line.details, "en")) == ("Points for joining", ["Welcome: 50"])
    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_an_event_that_is_no_longer_kept_is_not_published_again(brand, customer):
    welcomed(brand)
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()
    Event.objects.filter(detail_type="member-welcome").delete()  # as retention does

    assert welcome.publish_welcomes(at=timezone.now()) == 0
    assert earned() == [("welcome:member", 50)]


def test_many_who_join_at_once_are_welcomed_little_by_little_the_newest_first(brand, monkeypatch):
    monkeypatch.setattr(welcome, "CHUNK", 2)
    monkeypatch.setattr(welcome, "MAX_PUBLISHED", 3)
    welcomed(brand)
    joined = [factories.customer(brand) for _ in range(6)]

    published = []
    for _call in range(3):
        published.append(welcome.publish_welcomes(at=timezone.now()))
        worker.drain()

    assert published == [4, 2, 0]
    assert len(earned()) == len(joined)


def test_without_a_rule_nobody_is_welcomed(brand, customer):
    assert welcome.publish_welcomes(at=timezone.now()) == 0
    welcomed(brand, state="draft")
    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_a_programme_that_is_switched_off_welcomes_nobody(brand, customer):
    welcomed(brand)
    Brand.objects.update(loyalty_active=False)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_another_brand_s_members_are_not_welcomed(brand, customer):
    other = factories.brand()
    welcomed(other)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


@pytest.mark.parametrize("joined", [timedelta(days=2), timedelta(days=5)])
def test_who_joined_before_the_rule_or_long_ago_is_not_welcomed(brand, customer, joined):
    welcomed(brand)
    UserPoints.objects.update(enrolled_at=timezone.now() - joined)

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_who_was_brought_along_with_points_is_not_welcomed(brand, customer):
    welcomed(brand)
    factories.points(customer, brand, 100, reason_id="opening:old")

    assert welcome.publish_welcomes(at=timezone.now()) == 0


def test_a_rule_counts_by_when_the_member_joined(brand, customer):
    now = timezone.now()
    welcomed(brand, starts_at=now - timedelta(hours=3), ends_at=now - timedelta(hours=1))
    UserPoints.objects.update(enrolled_at=now - timedelta(hours=2))
    late = factories.customer(brand)
    welcome.publish_welcomes(at=now + timedelta(seconds=5))
    worker.drain()

    assert earned() == [("welcome:member", 50)]
    refused = Event.objects.get(detail_type="member-welcome", status="refused")
    assert (refused.detail["arguments"]["user_id"], refused.outcome["error"]) == (late.pk, "NOT_ELIGIBLE")


def test_a_blocked_member_gets_none(brand, customer):
    welcomed(brand)
    UserPoints.objects.update(status="blocked")
    welcome.publish_welcomes(at=timezone.now())
    worker.drain()

    assert earned() == []


@pytest.mark.django_db(transaction=True)
def test_beats_at_once_publish_each_event_once():
    brand = factories.brand()
    customers = [factories.customer(brand) for _ in range(5)]
    welcomed(brand)

    published = at_once(lambda _n: welcome.publish_welcomes(at=timezone.now()), range(4), threads=4)
    worker.drain()

    assert sum(published) == Event.objects.filter(detail_type="member-welcome").count() == len(customers)
    assert len(earned()) == len(customers)


def test_a_brand_at_which_it_fails_keeps_no_others_members_waiting(brand, customer, monkeypatch, caplog):
    """The brands come in any order, so each of them fails once."""
    other = factories.brand()
    factories.customer(other)
    for each in (brand, other):
        welcomed(each)
    portions = welcome._portions

    for broken in (brand, other):

        def failing(brand_id, at, *, broken=broken):
            if brand_id == broken.pk:
                raise ArithmeticError
            return portions(brand_id, at)

        monkeypatch.setattr(welcome, "_portions", failing)
        assert welcome.publish_welcomes(at=timezone.now()) == 1
        assert f"new members of the brand {broken.slug} could not be welcomed" in caplog.text
