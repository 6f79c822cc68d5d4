"""Claiming rewards of milestones: over the API."""

import pytest
from django.utils import timezone

from campaigns.models.campaigns import RewardClaim
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from tests.loyalty.rewards.conftest import balance, undo
from tests.support import factories
from tests.support.api import error

pytestmark = pytest.mark.usefixtures("books_are_right")


def test_thing_of_a_milestone_is_not_given_back(customer_api, brand, reached):
    reached(auto_claim=True)

    assert error(undo(customer_api, Redemption.objects.get())) == (409, "UNDO_NOT_POSSIBLE")


def claim(customer_api, milestone):
    return customer_api.post(f"customer/loyalty/milestones/{milestone.pk}/claim")


@pytest.fixture
def reached(customer_api, brand, deliver):
    """A milestone that the customer reached; its reward waits."""

    def reach(*, auto_claim=False, **terms):
        milestone = factories.milestone(factories.campaign(brand), 1, auto_claim=auto_claim, **terms)
        customer_api.verify(factories.code(brand))
        deliver()
        return milestone

    return reach


@pytest.mark.parametrize("auto_claim", [True, False])
def test_thing_is_claimed_once_and_gets_a_code(customer_api, reached, auto_claim):
    milestone = reached(reward_name="A sticker", auto_claim=auto_claim)

    first, second = claim(customer_api, milestone), claim(customer_api, milestone)

    made = Redemption.objects.get()
    assert first.json() == second.json()
    assert first.json()["data"]["redemption_id"] == made.pk
    assert (made.name, made.cost, made.milestone_id) == ("A sticker", 0, milestone.pk)
    assert RewardClaim.objects.get().status == "claimed"


def test_thing_that_is_claimed_automatically_has_its_code_without_being_claimed(customer_api, reached):
    milestone = reached(reward_name="A sticker", auto_claim=True)

    made = Redemption.objects.get()
    assert (made.name, made.cost, made.milestone_id, made.status) == ("A sticker", 0, milestone.pk, "issued")
    [redemption] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert (redemption["milestone_id"], redemption["state"]) == (milestone.pk, "good")
    assert RewardClaim.objects.get().status == "claimed"
    event = Event.objects.get(detail_type="reward-claimed")
    assert event.status == "done"


def deliver_grant_again(deliver):
    rows = Event.objects.filter(detail_type="reward-claimed")
    rows.update(status="pending", due_at=timezone.now(), finished_at=None, attempts=0)
    deliver()


def test_code_of_a_thing_is_made_once_however_often_its_event_is_delivered(reached, deliver):
    reached(auto_claim=True)

    deliver_grant_again(deliver)

    assert Redemption.objects.count() == 1
    assert Event.objects.get(detail_type="reward-claimed").status == "done"


def test_thing_of_a_blocked_member_waits_until_they_are_unblocked(reached, brand, customer, deliver):
    reached(auto_claim=True)
    Redemption.objects.all().delete()
    UserPoints.objects.update(status="blocked")

    deliver_grant_again(deliver)
    assert (Event.objects.get(detail_type="reward-claimed").status, Redemption.objects.count()) == ("pending", 0)

    UserPoints.objects.update(status="active")
    deliver_grant_again(deliver)
    assert Redemption.objects.count() == 1


def test_the_notice_of_an_accrual_tells_of_the_thing(customer_api, reached):
    reached(reward_name="A sticker", auto_claim=True)

    notification = Event.objects.get(detail_type="notify")
    assert [reward["reward_name"] for reward in notification.detail["payload"]["rewards"]] == ["A sticker"]


def test_the_first_path_of_a_claim_answers_the_same(customer_api, brand, reached):
    milestone = reached(reward_name="A sticker")
    factories.reward(brand)

    first = customer_api.post(f"customer/loyalty/rewards/{milestone.pk}/claim")

    assert (first.status_code, first.json()) == (200, claim(customer_api, milestone).json())
    assert error(customer_api.post("customer/loyalty/rewards/999999/claim")) == (404, "REWARD_NOT_FOUND")


def test_points_are_claimed_once_and_come_as_all_points_do(customer_api, customer, reached, deliver):
    milestone = reached(reward_points=70)
    before = balance(customer)

    answers = [claim(customer_api, milestone).json()["data"] for _ in range(2)]
    deliver()

    assert (
        answers[0]
        == answers[1]
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


def test_what_is_not_reached_cannot_be_claimed(customer_api, brand):
    milestone = factories.milestone(factories.campaign(brand), 3, auto_claim=False)
    elsewhere = factories.milestone(factories.campaign(factories.brand()), 1)

    assert error(claim(customer_api, milestone)) == (409, "REWARD_NOT_AVAILABLE")
    assert error(claim(customer_api, elsewhere)) == (404, "REWARD_NOT_FOUND")
