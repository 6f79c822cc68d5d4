"""Claiming rewards of milestones over the API."""

import pytest
from django.utils import timezone

from campaigns.models.campaigns import RewardClaim
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from tests.loyalty.rewards.conftest import balance, undo
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("consistent_ledger")


def test_claimed_reward_cannot_be_undone(customer_api, brand, complete_milestone):
    complete_milestone(auto_claim=True)

    assert error(undo(customer_api, Redemption.objects.get())) == (409, "UNDO_NOT_POSSIBLE")


def claim(customer_api, milestone):
    return customer_api.post(f"customer/loyalty/milestones/{milestone.pk}/claim")


@pytest.fixture
def complete_milestone(customer_api, brand, deliver_events):
    """Creates a milestone, reached by the customer, whose reward waits for them."""

    def create_and_complete(*, auto_claim=False, **terms):
        milestone = factories.milestone(factories.campaign(brand), 1, auto_claim=auto_claim, **terms)
        customer_api.verify(factories.code(brand))
        deliver_events()
        return milestone

    return create_and_complete


@pytest.mark.parametrize("auto_claim", [True, False])
def test_reward_is_claimed_once_and_gets_a_code(customer_api, complete_milestone, auto_claim):
    milestone = complete_milestone(reward_name="A sticker", auto_claim=auto_claim)

    first, second = claim(customer_api, milestone), claim(customer_api, milestone)

    redemption = Redemption.objects.get()
    assert first.json() == second.json()
    assert first.json()["data"]["redemption_id"] == redemption.pk
    assert (redemption.name, redemption.cost, redemption.milestone_id) == ("A sticker", 0, milestone.pk)
    assert RewardClaim.objects.get().status == "claimed"


def test_automatically_claimed_reward_gets_a_code_without_a_claim(customer_api, complete_milestone):
    milestone = complete_milestone(reward_name="A sticker", auto_claim=True)

    redemption = Redemption.objects.get()
    assert (redemption.name, redemption.cost, redemption.milestone_id, redemption.status) == (
        "A sticker",
        0,
        milestone.pk,
        "issued",
    )
    [listed] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert (listed["milestone_id"], listed["state"]) == (milestone.pk, "good")
    assert RewardClaim.objects.get().status == "claimed"
    event = Event.objects.get(detail_type="reward-claimed")
    assert event.status == "done"


def deliver_grant_again(deliver):
    rows = Event.objects.filter(detail_type="reward-claimed")
    rows.update(status="pending", due_at=timezone.now(), finished_at=None, attempts=0)
    deliver()


def test_event_delivered_twice_creates_one_code(complete_milestone, deliver_events):
    complete_milestone(auto_claim=True)

    deliver_grant_again(deliver_events)

    assert Redemption.objects.count() == 1
    assert Event.objects.get(detail_type="reward-claimed").status == "done"


def test_reward_of_a_blocked_member_waits_until_they_are_unblocked(complete_milestone, brand, customer, deliver_events):
    complete_milestone(auto_claim=True)
    Redemption.objects.all().delete()
    UserPoints.objects.update(status="blocked")

    deliver_grant_again(deliver_events)
    assert (Event.objects.get(detail_type="reward-claimed").status, Redemption.objects.count()) == ("pending", 0)

    UserPoints.objects.update(status="active")
    deliver_grant_again(deliver_events)
    assert Redemption.objects.count() == 1


def test_notification_of_an_accrual_contains_the_reward(customer_api, complete_milestone):
    complete_milestone(reward_name="A sticker", auto_claim=True)

    notification = Event.objects.get(detail_type="notify")
    assert [reward["reward_name"] for reward in notification.detail["payload"]["rewards"]] == ["A sticker"]


def test_older_path_of_a_claim_returns_the_same_response(customer_api, brand, complete_milestone):
    milestone = complete_milestone(reward_name="A sticker")
    factories.reward(brand)

    first = customer_api.post(f"customer/loyalty/rewards/{milestone.pk}/claim")

    assert (first.status_code, first.json()) == (200, claim(customer_api, milestone).json())
    assert error(customer_api.post("customer/loyalty/rewards/999999/claim")) == (404, "REWARD_NOT_FOUND")


def test_points_of_a_milestone_are_claimed_once_and_credited_by_event(
    customer_api, customer, complete_milestone, deliver_events
):
    milestone = complete_milestone(reward_points=70)
    before = balance(customer)

    responses = [claim(customer_api, milestone).json()["data"] for _ in range(2)]
    deliver_events()

    assert (
        responses[0]
        == responses[1]
        == {
            "milestone_id": milestone.pk,
            "reward_name": "A mug",
            "points": 70,
            "redemption_id": None,
            "code": None,
            "picture": None,
        }
    )
    assert balance(customer) == before + 70


def test_unreached_or_foreign_milestone_cannot_be_claimed(customer_api, brand):
    milestone = factories.milestone(factories.campaign(brand), 3, auto_claim=False)
    foreign_milestone = factories.milestone(factories.campaign(factories.brand()), 1)

    assert error(claim(customer_api, milestone)) == (409, "REWARD_NOT_AVAILABLE")
    assert error(claim(customer_api, foreign_milestone)) == (404, "REWARD_NOT_FOUND")
