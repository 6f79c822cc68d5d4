"""Rewards of milestones that are given at once: those of many members together, and what has to be given alone."""

import pytest
from django.utils import timezone

from campaigns.accrual.handlers import on_reward_claimed_batch
from campaigns.progress import claims
from events import leases, messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered

pytestmark = pytest.mark.django_db


@pytest.fixture
def members(brand):
    return [factories.customer(brand) for _ in range(3)]


@pytest.fixture
def milestone(brand):
    return factories.milestone(factories.campaign(brand), 1, reward_name="A mug")


def reached(milestone, *members, brand=None, points=0, **payload):
    """The events of members who have reached it, as a worker holds them."""
    brand = brand or milestone.campaign.brand
    won = {"type": "reward", "milestone_id": milestone.pk, "reward_name": milestone.reward_name, "points": str(points)}
    for member in members:
        to = {"brand_id": brand.pk, "user_id": member.pk}
        event = messages.NewEvent(kind="reward-claimed", payload=won | payload, arguments=to)
        publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now())
    return leases.claim(limit=100)


def redemptions():
    return sorted(Redemption.objects.values_list("user_point__user_id", "milestone_id", "milestone_round", "name"))


def test_things_of_many_members_take_one_statement(members, milestone, django_assert_num_queries):
    events = reached(milestone, *members)

    with django_assert_num_queries(1):
        left = on_reward_claimed_batch(events)

    assert left == []
    assert redemptions() == [(member.pk, milestone.pk, 1, "A mug") for member in members]
    assert Redemption.objects.values("code").distinct().count() == 3
    assert set(Event.objects.values_list("status", "outcome")) == {("done", None)}


def test_things_given_together_are_as_those_given_alone(members, milestone, brand, monkeypatch):
    reward = factories.reward(brand, name="A bag", code_days=30)
    milestone.reward = reward
    milestone.save()
    together, alone = reached(milestone, *members[:2], round=2)

    at = timezone.now()
    assert claims.grant_many([together], at=at) == []
    monkeypatch.setattr(claims, "grant_many", lambda events, **_: events)
    claims.grant(alone, at=at)

    own = ("id", "code", "user_point_id")
    first, second = ({name: row[name] for name in row if name not in own} for row in Redemption.objects.values())
    assert first == second
    assert (first["name"], first["reward_id"], first["milestone_round"]) == ("A bag", reward.pk, 2)
    assert (first["expires_at"] - at).days == 30


def test_two_things_of_one_member_are_given_together(members, milestone):
    other = factories.milestone(milestone.campaign, 2, reward_name="A bag")
    events = reached(milestone, members[0]) + reached(other, members[0])

    assert on_reward_claimed_batch(events) == []
    assert [name for *_, name in redemptions()] == ["A mug", "A bag"]


def test_what_was_given_already_is_not_given_again(members, milestone):
    on_reward_claimed_batch(reached(milestone, members[0]))

    assert on_reward_claimed_batch(reached(milestone, members[0])) == []
    assert len(redemptions()) == 1
    assert set(Event.objects.values_list("status", flat=True)) == {"done"}


@pytest.mark.parametrize("terms", [{"stock": 5}, {"uses_pool": True}])
def test_what_there_is_only_so_much_of_is_given_alone(members, milestone, brand, terms):
    milestone.reward = factories.reward(brand, **terms)
    milestone.save()
    events = reached(milestone, *members)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


@pytest.mark.parametrize("change", [{"status": "blocked"}, {"brand__loyalty_active": False}])
def test_who_cannot_be_given_anything_now_is_left_out(members, milestone, brand, change):
    events = reached(milestone, *members)
    if "status" in change:
        UserPoints.objects.filter(user=members[1]).update(**change)
    else:
        type(brand).objects.update(loyalty_active=False)

    left = on_reward_claimed_batch(events)

    assert left == (events[1:2] if "status" in change else events)
    assert len(redemptions()) == 3 - len(left)


def test_a_milestone_of_another_brand_gives_nothing(members, milestone):
    elsewhere = factories.milestone(factories.campaign(factories.brand()), 1)
    events = reached(elsewhere, members[0], brand=milestone.campaign.brand)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


def test_an_event_that_another_worker_took_over_is_left_to_it(members, milestone):
    events = reached(milestone, *members)
    Event.objects.filter(pk=events[0].id).update(attempts=2)

    assert on_reward_claimed_batch(events) == events[:1]
    assert len(redemptions()) == 2
    assert Event.objects.get(pk=events[0].id).status == "pending"


def test_points_of_many_members_are_credited_together(members, milestone, django_assert_max_num_queries):
    events = reached(milestone, *members, points=50)

    with django_assert_max_num_queries(2):
        assert on_reward_claimed_batch(events) == []

    assert [factories.account(member, milestone.campaign.brand).points for member in members] == [50, 50, 50]


def test_a_worker_gives_things_and_points_and_what_is_left(members, milestone, brand):
    scarce = factories.milestone(milestone.campaign, 2, reward_name="A bag", reward=factories.reward(brand, stock=1))
    for each, points in ((milestone, 0), (milestone, 50), (scarce, 0)):
        reached(each, *members[:1], points=points)
    Event.objects.update(attempts=0, due_at=timezone.now())

    worker.drain()

    assert len(redemptions()) == 2
    assert factories.account(members[0], brand).points == 50
    assert set(Event.objects.filter(detail_type="reward-claimed").values_list("status", flat=True)) == {"done"}


def given_by_8_workers():
    """How many of 8 workers, who hold the same event, gave its thing."""
    brand = factories.brand()
    factories.level(brand)
    milestone = factories.milestone(factories.campaign(brand), 1)
    events = reached(milestone, factories.customer(brand))
    return at_once(lambda _: claims.grant_many(events, at=timezone.now()), range(8)).count([])


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_with_the_same_event_one_gives_the_thing(transactional_db):
    assert given_by_8_workers() == 1
    assert len(redemptions()) == 1


@pytest.mark.django_db(transaction=True)
def test_control_unless_the_event_must_be_open_all_of_them_do(transactional_db, monkeypatch):
    monkeypatch.setattr(claims, "GRANT_THINGS", altered(claims.GRANT_THINGS, (" AND e.finished_at IS NULL", "")))

    assert given_by_8_workers() == 8
