"""Milestones give rewards of the brand's catalogue: words, picture and stock."""

import time
import uuid
from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.tenants import Picture
from campaigns.models.campaigns import Milestone, RewardClaim
from campaigns.progress import claims
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode, Redemption, Reward
from loyalty.rewards import cancellation, grants, pools, redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.campaigns.accrual.conftest import contradictions, scanned
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


def picture_of(brand):
    return Picture.objects.create(brand=brand, content=b"1", content_type="image/jpeg", width=4, height=3, small=b"1")


# --- Words


def test_a_milestone_has_the_words_of_its_reward(milestone):
    milestone.refresh_from_db()

    assert milestone.reward_name == "Enamel mug"
    assert milestone.translations == {"de": {"reward_name": "Becher"}}


def test_a_renamed_reward_renames_its_milestones_alone(brand, milestone, mug):
    other = factories.milestone(factories.campaign(milestone.campaign.brand), 2, reward_name="Sticker")

    mug.name, mug.translations = "Steel mug", {"ar": {"name": "كوب"}}
    mug.save()

    milestone.refresh_from_db()
    other.refresh_from_db()
    assert (milestone.reward_name, milestone.translations) == ("Steel mug", {"ar": {"reward_name": "كوب"}})
    assert (other.reward_name, other.translations) == ("Sticker", {})


def test_members_read_name_description_and_picture_in_their_language(customer_api, milestone, mug):
    mug.picture = picture_of(mug.brand)
    mug.save()
    address_of_picture = f"/pictures/{mug.picture_id}/small"

    [campaign] = customer_api.having(accept_language="de").get("customer/loyalty/campaigns").json()["data"]

    [stop] = campaign["milestones"]
    assert (stop["reward_name"], stop["reward_description"]) == ("Becher", "Mit Berg.")
    assert (stop["reward_id"], stop["picture"]) == (mug.pk, address_of_picture)
    assert campaign["next_reward"] == "Becher"


def test_a_claim_shows_the_picture_and_gives_a_code_that_ends(customer_api, brand, customer, milestone, mug):
    mug.picture, mug.code_days = picture_of(brand), 30
    mug.save()
    Milestone.objects.update(auto_claim=False)
    scanned(brand, customer, sku="A", title="A")

    answer = customer_api.post(f"customer/loyalty/milestones/{milestone.pk}/claim", {}).json()["data"]

    made = Redemption.objects.get()
    assert answer["picture"] == f"/pictures/{mug.picture_id}/small"
    assert (made.reward_id, made.milestone_id, made.name, made.cost) == (mug.pk, milestone.pk, "Enamel mug", 0)
    assert timedelta(days=29) < made.expires_at - timezone.now() <= timedelta(days=30)
    assert (Reward.objects.get().stock, contradictions()) == (1, [])


# --- Stock


def test_stock_counts_for_what_is_won_and_what_is_bought(brand, customer, milestone, mug):
    mug.cost = 10
    mug.save()
    scanned(brand, customer, sku="A", title="A")
    buyer = factories.customer(brand)
    factories.points(buyer, brand, 50)

    redeem.redeem(RedemptionRequest(brand.pk, buyer.pk, mug.pk, uuid.uuid4(), timezone.now()))

    assert Reward.objects.get().stock == 0
    assert sorted(Redemption.objects.values_list("cost", flat=True)) == [0, 10]


def test_what_was_won_does_not_count_towards_the_limit_of_buying(brand, customer, milestone, mug):
    mug.cost, mug.limit_per_member = 1, 1
    mug.save()
    scanned(brand, customer, sku="A", title="A")
    factories.points(customer, brand, 50)

    redeem.redeem(RedemptionRequest(brand.pk, customer.pk, mug.pk, uuid.uuid4(), timezone.now()))

    assert Redemption.objects.count() == 2


def test_none_left_makes_the_reward_wait_until_there_are_some(customer_api, brand, customer, milestone, mug):
    Reward.objects.update(stock=0)
    scanned(brand, customer, sku="A", title="A")
    its = f"customer/loyalty/milestones/{milestone.pk}/claim"

    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("available", 0)
    refused = customer_api.post(its, {})
    assert (refused.status_code, refused.json()["error"]) == (409, "OUT_OF_STOCK")
    assert RewardClaim.objects.get().status == "available"

    Reward.objects.update(stock=1)
    assert customer_api.post(its, {}).status_code == 200
    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("claimed", 1)
    assert (Reward.objects.get().stock, contradictions()) == (0, [])


def test_a_won_reward_that_staff_cancel_goes_back_into_stock(brand, customer, milestone):
    scanned(brand, customer, sku="A", title="A")
    assert Reward.objects.get().stock == 1

    context = AuditContext(staff(brand), timezone.now(), "", "Broken")
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=context)

    assert Reward.objects.get().stock == 2


def test_a_won_reward_hands_out_a_partner_code_once(brand, customer, milestone, mug):
    Reward.objects.update(stock=None, uses_pool=True)
    ends = timezone.now() + timedelta(days=3)
    for number in range(2):
        PoolCode.objects.create(
            brand=brand, reward=mug, code=f"V-{number}", digest=pools.digest(str(number)), ending="", expires_at=ends
        )

    scanned(brand, customer, sku="A", title="A")

    made = Redemption.objects.get()
    assert PoolCode.objects.get(redemption=made).code == "V-0"
    assert made.expires_at == ends
    assert PoolCode.objects.filter(redemption__isnull=True).count() == 1


def test_an_empty_pool_makes_the_reward_wait(brand, customer, milestone):
    Reward.objects.update(stock=None, uses_pool=True)

    scanned(brand, customer, sku="A", title="A")

    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("available", 0)


def test_a_reward_without_a_cost_is_won_and_never_bought(customer_api, brand, customer, mug):
    factories.points(customer, brand, 500)

    assert customer_api.get("customer/loyalty/rewards").json()["data"] == []
    with pytest.raises(redeem.RewardNotFound):
        redeem.redeem(RedemptionRequest(brand.pk, customer.pk, mug.pk, uuid.uuid4(), timezone.now()))
    outsider = factories.customer(brand)
    UserPoints.objects.filter(user=outsider).delete()
    with pytest.raises(redeem.RewardNotFound):
        redeem.redeem(RedemptionRequest(brand.pk, outsider.pk, mug.pk, uuid.uuid4(), timezone.now()))
    assert Reward.objects.get().stock == 2


# --- Tenants and constraints


@pytest.mark.parametrize("is_new", [True, False])
def test_the_database_refuses_a_reward_of_another_brand(brand, mug, is_new):
    foreign_reward = factories.reward(factories.brand(), name="Theirs")
    campaign = factories.campaign(brand)
    made = None if is_new else factories.milestone(campaign, 1)

    with pytest.raises(IntegrityError, match="another brand"), transaction.atomic():
        if made:
            Milestone.objects.filter(pk=made.pk).update(reward=foreign_reward)
        else:
            factories.milestone(campaign, 1, reward=foreign_reward)


def test_the_database_refuses_points_and_a_reward_at_once(brand, mug):
    with pytest.raises(IntegrityError, match="milestone_gives_points_or_a_reward"), transaction.atomic():
        factories.milestone(factories.campaign(brand), 1, reward=mug, reward_points=5)


# --- Races


def winners(brand, mug, many):
    campaign = factories.campaign(brand, target_value=1)
    made = factories.milestone(campaign, 1, reward=mug, auto_claim=False)
    people = [factories.customer(brand) for _ in range(many)]
    for each in people:
        factories.points(each, brand, 10)
        RewardClaim.objects.create(milestone=made, user=each)
    return made, people


def attempt(brand, mug, made):
    """Odd ones claim what they won, even ones buy; each says what came of it."""

    def work(item):
        number, person = item
        at = timezone.now()
        if number % 2:
            claims.claim(brand_id=brand.pk, user_id=person.pk, milestone_id=made.pk, at=at)
        else:
            redeem.redeem(RedemptionRequest(brand.pk, person.pk, mug.pk, uuid.uuid4(), at))

    return work


@pytest.mark.django_db(transaction=True)
def test_winners_and_buyers_at_once_share_one_stock():
    brand = factories.brand()
    factories.level(brand)
    mug = factories.reward(brand, cost=10, stock=5)
    made, people = winners(brand, mug, 20)

    results = at_once(attempt(brand, mug, made), list(enumerate(people)))

    outcomes = Counter("given" if each is None else each.code for each in results)
    assert outcomes == {"given": 5, "OUT_OF_STOCK": 15}
    assert (Reward.objects.get().stock, Redemption.objects.count()) == (0, 5)
    assert RewardClaim.objects.filter(status="claimed").count() == Redemption.objects.filter(cost=0).count()


@pytest.mark.django_db(transaction=True)
def test_without_the_condition_more_is_given_than_there_is(monkeypatch):
    """The control: whoever reads the stock first and takes one of it later gives out the same one twice."""
    brand = factories.brand()
    factories.level(brand)
    mug = factories.reward(brand, cost=10, stock=1)
    made, people = winners(brand, mug, 8)

    def careless(reward, redemption, at):
        if not reward.stock:
            raise grants.OutOfStock
        time.sleep(0.2)
        Reward.objects.filter(pk=reward.pk).update(stock=0)

    monkeypatch.setattr(grants, "_take_one", careless)

    at_once(
        lambda person: claims.claim(brand_id=brand.pk, user_id=person.pk, milestone_id=made.pk, at=timezone.now()),
        people,
    )

    assert Redemption.objects.count() > 1
