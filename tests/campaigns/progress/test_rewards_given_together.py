"""Rewards of milestones that are given at once: those of many members together, and what has to be given alone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.accrual.handlers import on_reward_claimed_batch
from campaigns.models.campaigns import Milestone
from campaigns.progress import claims
from events import leases, messages, publishing, worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.points import accounts
from tests.support import factories
from tests.support.concurrency import at_once, holding
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


# Whoever comes later waits for whoever came first, and does not ask whether the event is finished.
UNGUARDED = ((" AND e.finished_at IS NULL", ""), (" SKIP LOCKED", ""))


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


@pytest.mark.parametrize("terms", [None, {"code_days": 30}, {"code_days": None}])
@pytest.mark.parametrize("milestone_round", [1, 2])
def test_things_given_together_are_as_those_given_alone(members, milestone, brand, monkeypatch, terms, milestone_round):
    reward = None if terms is None else factories.reward(brand, name="A bag", **terms)
    Milestone.objects.update(reward=reward)
    for member in members:
        factories.points(member, brand, 70)
    together, alone = reached(milestone, *members[:2], round=milestone_round)

    at = timezone.now()
    assert claims.grant_many([together], at=at) == []
    monkeypatch.setattr(claims, "grant_many", lambda events, **_: events)
    claims.grant(alone, at=at)

    own = ("id", "code", "user_point_id")
    first, second = ({name: row[name] for name in row if name not in own} for row in Redemption.objects.values())
    assert first == second
    assert (first["name"], first["reward_id"]) == ("A bag" if reward else "A mug", reward and reward.pk)
    assert (first["balance_after"], first["milestone_round"]) == (70, milestone_round)
    assert first["expires_at"] == (at + timedelta(days=30) if terms and terms["code_days"] else None)


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


def test_who_cannot_be_given_anything_now_is_left_out(members, milestone):
    events = reached(milestone, *members)
    UserPoints.objects.filter(user=members[1]).update(status="blocked")

    assert on_reward_claimed_batch(events) == events[1:2]
    assert [user for user, *_ in redemptions()] == [members[0].pk, members[2].pk]


def test_merged_members_are_left_out(members, milestone, brand):
    events = reached(milestone, *members)
    factories.merge(members[0], members[1], brand)

    left = on_reward_claimed_batch(events)

    [merged] = UserPoints.objects.filter(status="merged").values_list("user_id", flat=True)
    assert [event.arguments["user_id"] for event in left] == [merged]
    assert len(redemptions()) == 2


def test_a_programme_that_is_switched_off_gives_nothing(members, milestone, brand):
    events = reached(milestone, *members)
    type(brand).objects.update(loyalty_active=False)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


def test_a_member_of_two_brands_is_given_it_at_the_milestones_brand(members, milestone, brand):
    other = factories.brand()
    factories.level(other)
    accounts.enrol(user_id=members[0].pk, brand_id=other.pk, at=timezone.now())

    assert on_reward_claimed_batch(reached(milestone, members[0])) == []
    assert list(Redemption.objects.values_list("brand_id", "user_point__brand_id")) == [(brand.pk, brand.pk)]


@pytest.mark.django_db(transaction=True)
def test_one_bad_event_spoils_no_other(members, milestone, brand):
    good = reached(milestone, members[0])
    paid = reached(milestone, members[1], points=50)
    bad = reached(milestone, members[2], milestone_id="x")

    assert on_reward_claimed_batch([*good, *paid, *bad]) == [*good, *bad]
    assert factories.account(members[1], brand).points == 50
    assert claims.grant_many(good, at=timezone.now()) == []


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


@pytest.mark.django_db(transaction=True)
def test_an_account_that_somebody_holds_keeps_nobody_waiting(transactional_db):
    brands = [factories.brand() for _ in range(2)]
    milestones = [factories.milestone(factories.campaign(each), 1) for each in brands]
    members = [factories.customer(each) for each in brands]
    events = [event for each, member in zip(milestones, members, strict=True) for event in reached(each, member)]

    with holding("SELECT 1 FROM user_points WHERE user_id = %s FOR UPDATE", [members[0].pk]):
        left = claims.grant_many(events, at=timezone.now())

    assert left == events[:1]
    assert [user for user, *_ in redemptions()] == [members[1].pk]


@pytest.mark.django_db(transaction=True)
def test_stock_that_is_set_while_the_account_is_held_counts(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    reward, member = factories.reward(brand), factories.customer(brand)
    milestone = factories.milestone(factories.campaign(brand), 1, reward=reward)
    events = reached(milestone, member)

    with holding("SELECT 1 FROM user_points WHERE user_id = %s FOR UPDATE", [member.pk]):
        left = claims.grant_many(events, at=timezone.now())
        type(reward).objects.update(stock=1)
    claims.grant(left[0], at=timezone.now())

    reward.refresh_from_db()
    assert (reward.stock, len(redemptions())) == (0, 1)


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
    monkeypatch.setattr(claims, "GRANT_THINGS", altered(claims.GRANT_THINGS, *UNGUARDED))

    assert given_by_8_workers() == 8
