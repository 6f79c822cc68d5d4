"""Rewards of milestones that are granted in a batch, and rewards that have to be granted one by one."""

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
from tests.support.concurrency import locked_by_another_session, run_concurrently
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db


@pytest.fixture
def members(brand):
    return [factories.customer(brand) for _ in range(3)]


@pytest.fixture
def milestone(brand):
    return factories.milestone(factories.campaign(brand), 1, reward_name="A mug")


def lease_events(milestone, *members, brand=None, points=0, **payload):
    """Publish the events of members who reached the milestone, and lease them as a worker does."""
    brand = brand or milestone.campaign.brand
    event_payload = {
        "type": "reward",
        "milestone_id": milestone.pk,
        "reward_name": milestone.reward_name,
        "points": str(points),
    }
    for member in members:
        arguments = {"brand_id": brand.pk, "user_id": member.pk}
        event = messages.NewEvent(kind="reward-claimed", payload=event_payload | payload, arguments=arguments)
        publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now())
    return leases.claim(limit=100)


# A later worker waits for the first one, and does not check whether the event is finished.
UNGUARDED = ((" AND e.finished_at IS NULL", ""), (" SKIP LOCKED", ""))


def redemptions():
    return sorted(Redemption.objects.values_list("user_point__user_id", "milestone_id", "milestone_round", "name"))


def test_rewards_of_many_members_take_one_statement(members, milestone, django_assert_num_queries):
    events = lease_events(milestone, *members)

    with django_assert_num_queries(1):
        left = on_reward_claimed_batch(events)

    assert left == []
    assert redemptions() == [(member.pk, milestone.pk, 1, "A mug") for member in members]
    assert Redemption.objects.values("code").distinct().count() == 3
    assert set(Event.objects.values_list("status", "outcome")) == {("done", None)}


@pytest.mark.parametrize("terms", [None, {"code_days": 30}, {"code_days": None}])
@pytest.mark.parametrize("milestone_round", [1, 2])
def test_batched_rewards_equal_rewards_granted_one_by_one(
    members, milestone, brand, monkeypatch, terms, milestone_round
):
    reward = None if terms is None else factories.reward(brand, name="A bag", **terms)
    Milestone.objects.update(reward=reward)
    for member in members:
        factories.points(member, brand, 70)
    batched, single = lease_events(milestone, *members[:2], round=milestone_round)

    at = timezone.now()
    assert claims.grant_many([batched], at=at) == []
    monkeypatch.setattr(claims, "grant_many", lambda events, **_: events)
    claims.grant(single, at=at)

    ignored_fields = ("id", "code", "user_point_id")
    first, second = (
        {name: row[name] for name in row if name not in ignored_fields} for row in Redemption.objects.values()
    )
    assert first == second
    assert (first["name"], first["reward_id"]) == ("A bag" if reward else "A mug", reward and reward.pk)
    assert (first["balance_after"], first["milestone_round"]) == (70, milestone_round)
    assert first["expires_at"] == (at + timedelta(days=30) if terms and terms["code_days"] else None)


def test_two_rewards_of_one_member_are_granted_in_a_batch(members, milestone):
    other = factories.milestone(milestone.campaign, 2, reward_name="A bag")
    events = lease_events(milestone, members[0]) + lease_events(other, members[0])

    assert on_reward_claimed_batch(events) == []
    assert [name for *_, name in redemptions()] == ["A mug", "A bag"]


def test_reward_already_granted_is_not_granted_again(members, milestone):
    on_reward_claimed_batch(lease_events(milestone, members[0]))

    assert on_reward_claimed_batch(lease_events(milestone, members[0])) == []
    assert len(redemptions()) == 1
    assert set(Event.objects.values_list("status", flat=True)) == {"done"}


@pytest.mark.parametrize("terms", [{"stock": 5}, {"uses_pool": True}])
def test_limited_rewards_are_left_out_of_the_batch(members, milestone, brand, terms):
    milestone.reward = factories.reward(brand, **terms)
    milestone.save()
    events = lease_events(milestone, *members)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


def test_blocked_members_are_left_out_of_the_batch(members, milestone):
    events = lease_events(milestone, *members)
    UserPoints.objects.filter(user=members[1]).update(status="blocked")

    assert on_reward_claimed_batch(events) == events[1:2]
    assert [user for user, *_ in redemptions()] == [members[0].pk, members[2].pk]


def test_merged_members_are_left_out_of_the_batch(members, milestone, brand):
    events = lease_events(milestone, *members)
    factories.merge(members[0], members[1], brand)

    left = on_reward_claimed_batch(events)

    [merged] = UserPoints.objects.filter(status="merged").values_list("user_id", flat=True)
    assert [event.arguments["user_id"] for event in left] == [merged]
    assert len(redemptions()) == 2


def test_inactive_programme_grants_nothing(members, milestone, brand):
    events = lease_events(milestone, *members)
    type(brand).objects.update(loyalty_active=False)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


def test_member_of_two_brands_gets_the_reward_at_the_milestones_brand(members, milestone, brand):
    other = factories.brand()
    factories.level(other)
    accounts.enrol(user_id=members[0].pk, brand_id=other.pk, at=timezone.now())

    assert on_reward_claimed_batch(lease_events(milestone, members[0])) == []
    assert list(Redemption.objects.values_list("brand_id", "user_point__brand_id")) == [(brand.pk, brand.pk)]


@pytest.mark.django_db(transaction=True)
def test_invalid_event_does_not_affect_others(members, milestone, brand):
    valid = lease_events(milestone, members[0])
    paid = lease_events(milestone, members[1], points=50)
    invalid = lease_events(milestone, members[2], milestone_id="x")

    assert on_reward_claimed_batch([*valid, *paid, *invalid]) == [*valid, *invalid]
    assert factories.account(members[1], brand).points == 50
    assert claims.grant_many(valid, at=timezone.now()) == []


def test_milestone_of_another_brand_grants_nothing(members, milestone):
    foreign_milestone = factories.milestone(factories.campaign(factories.brand()), 1)
    events = lease_events(foreign_milestone, members[0], brand=milestone.campaign.brand)

    assert on_reward_claimed_batch(events) == events
    assert redemptions() == []


def test_event_taken_over_by_another_worker_is_skipped(members, milestone):
    events = lease_events(milestone, *members)
    Event.objects.filter(pk=events[0].id).update(attempts=2)

    assert on_reward_claimed_batch(events) == events[:1]
    assert len(redemptions()) == 2
    assert Event.objects.get(pk=events[0].id).status == "pending"


def test_points_of_many_members_are_credited_in_a_batch(members, milestone, django_assert_max_num_queries):
    events = lease_events(milestone, *members, points=50)

    with django_assert_max_num_queries(2):
        assert on_reward_claimed_batch(events) == []

    assert [factories.account(member, milestone.campaign.brand).points for member in members] == [50, 50, 50]


def test_worker_grants_batched_rewards_points_and_limited_rewards(members, milestone, brand):
    scarce = factories.milestone(milestone.campaign, 2, reward_name="A bag", reward=factories.reward(brand, stock=1))
    for each, points in ((milestone, 0), (milestone, 50), (scarce, 0)):
        lease_events(each, *members[:1], points=points)
    Event.objects.update(attempts=0, due_at=timezone.now())

    worker.drain()

    assert len(redemptions()) == 2
    assert factories.account(members[0], brand).points == 50
    assert set(Event.objects.filter(detail_type="reward-claimed").values_list("status", flat=True)) == {"done"}


@pytest.mark.django_db(transaction=True)
def test_locked_account_does_not_delay_other_members(transactional_db):
    brands = [factories.brand() for _ in range(2)]
    milestones = [factories.milestone(factories.campaign(each), 1) for each in brands]
    members = [factories.customer(each) for each in brands]
    events = [event for each, member in zip(milestones, members, strict=True) for event in lease_events(each, member)]

    with locked_by_another_session("SELECT 1 FROM user_points WHERE user_id = %s FOR UPDATE", [members[0].pk]):
        left = claims.grant_many(events, at=timezone.now())

    assert left == events[:1]
    assert [user for user, *_ in redemptions()] == [members[1].pk]


@pytest.mark.django_db(transaction=True)
def test_stock_set_while_the_account_is_locked_is_respected(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    reward, member = factories.reward(brand), factories.customer(brand)
    milestone = factories.milestone(factories.campaign(brand), 1, reward=reward)
    events = lease_events(milestone, member)

    with locked_by_another_session("SELECT 1 FROM user_points WHERE user_id = %s FOR UPDATE", [member.pk]):
        left = claims.grant_many(events, at=timezone.now())
        type(reward).objects.update(stock=1)
    claims.grant(left[0], at=timezone.now())

    reward.refresh_from_db()
    assert (reward.stock, len(redemptions())) == (0, 1)


def grants_by_8_workers():
    """The number of workers, of 8 with a lease of the same event, that granted its reward."""
    brand = factories.brand()
    factories.level(brand)
    milestone = factories.milestone(factories.campaign(brand), 1)
    events = lease_events(milestone, factories.customer(brand))
    return run_concurrently(lambda _: claims.grant_many(events, at=timezone.now()), range(8)).count([])


@pytest.mark.django_db(transaction=True)
def test_one_of_many_workers_with_the_same_event_grants_the_reward(transactional_db):
    assert grants_by_8_workers() == 1
    assert len(redemptions()) == 1


@pytest.mark.django_db(transaction=True)
def test_control_every_worker_grants_the_reward_without_the_guard(transactional_db, monkeypatch):
    monkeypatch.setattr(claims, "GRANT_THINGS", with_replacements(claims.GRANT_THINGS, *UNGUARDED))

    assert grants_by_8_workers() == 8
