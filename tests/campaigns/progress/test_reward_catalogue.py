"""Milestones that give rewards of the brand's catalogue: texts, picture and stock."""

import time
import uuid
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.tenants import Picture
from campaigns.models.campaigns import Milestone, RewardClaim
from campaigns.progress import claims
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode, Redemption, Reward
from loyalty.rewards import cancellation, grants, pools, redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.campaigns.accrual.conftest import progress_inconsistencies, report_scan
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def customer_api(api, customer):
    return api.as_customer(customer)


def picture_of(brand):
    return Picture.objects.create(brand=brand, content=b"1", content_type="image/jpeg", width=4, height=3, small=b"1")


# --- Texts


def test_milestone_takes_the_texts_of_its_reward(milestone):
    milestone.refresh_from_db()

    assert milestone.reward_name == "Enamel mug"
    assert milestone.translations == {"de": {"reward_name": "Becher"}}


def test_renaming_a_reward_renames_only_its_milestones(brand, milestone, mug):
    other = factories.milestone(factories.campaign(milestone.campaign.brand), 2, reward_name="Sticker")

    mug.name, mug.translations = "Steel mug", {"ar": {"name": "كوب"}}
    mug.save()

    milestone.refresh_from_db()
    other.refresh_from_db()
    assert (milestone.reward_name, milestone.translations) == ("Steel mug", {"ar": {"reward_name": "كوب"}})
    assert (other.reward_name, other.translations) == ("Sticker", {})


def test_members_see_name_description_and_picture_in_their_language(customer_api, milestone, mug):
    mug.picture = picture_of(mug.brand)
    mug.save()
    picture_url = f"/pictures/{mug.picture_id}/small"

    [campaign] = customer_api.with_headers(accept_language="de").get("customer/loyalty/campaigns").json()["data"]

    [listed_milestone] = campaign["milestones"]
    assert (listed_milestone["reward_name"], listed_milestone["reward_description"]) == ("Becher", "Mit Berg.")
    assert (listed_milestone["reward_id"], listed_milestone["picture"]) == (mug.pk, picture_url)
    assert campaign["next_reward"] == "Becher"


def test_claim_returns_the_picture_and_creates_a_code_that_expires(customer_api, brand, customer, milestone, mug):
    mug.picture, mug.code_days = picture_of(brand), 30
    mug.save()
    Milestone.objects.update(auto_claim=False)
    report_scan(brand, customer, sku="A", title="A")

    answer = customer_api.post(f"customer/loyalty/milestones/{milestone.pk}/claim", {}).json()["data"]

    redemption = Redemption.objects.get()
    assert answer["picture"] == f"/pictures/{mug.picture_id}/small"
    assert (redemption.reward_id, redemption.milestone_id, redemption.name, redemption.cost) == (
        mug.pk,
        milestone.pk,
        "Enamel mug",
        0,
    )
    assert timedelta(days=29) < redemption.expires_at - timezone.now() <= timedelta(days=30)
    assert (Reward.objects.get().stock, progress_inconsistencies()) == (1, [])


# --- Stock


def test_stock_is_shared_by_won_and_bought_rewards(brand, customer, milestone, mug):
    mug.cost = 10
    mug.save()
    report_scan(brand, customer, sku="A", title="A")
    buyer = factories.customer(brand)
    factories.points(buyer, brand, 50)

    redeem.redeem(RedemptionRequest(brand.pk, buyer.pk, mug.pk, uuid.uuid4(), timezone.now()))

    assert Reward.objects.get().stock == 0
    assert sorted(Redemption.objects.values_list("cost", flat=True)) == [0, 10]


def test_won_reward_does_not_count_towards_the_purchase_limit(brand, customer, milestone, mug):
    mug.cost, mug.limit_per_member = 1, 1
    mug.save()
    report_scan(brand, customer, sku="A", title="A")
    factories.points(customer, brand, 50)

    redeem.redeem(RedemptionRequest(brand.pk, customer.pk, mug.pk, uuid.uuid4(), timezone.now()))

    assert Redemption.objects.count() == 2


def test_reward_out_of_stock_waits_until_it_is_available(customer_api, brand, customer, milestone, mug):
    Reward.objects.update(stock=0)
    report_scan(brand, customer, sku="A", title="A")
    url = f"customer/loyalty/milestones/{milestone.pk}/claim"

    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("available", 0)
    rejected = customer_api.post(url, {})
    assert (rejected.status_code, rejected.json()["error"]) == (409, "OUT_OF_STOCK")
    assert RewardClaim.objects.get().status == "available"

    Reward.objects.update(stock=1)
    assert customer_api.post(url, {}).status_code == 200
    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("claimed", 1)
    assert (Reward.objects.get().stock, progress_inconsistencies()) == (0, [])


def test_cancelling_a_won_reward_restores_its_stock(brand, customer, milestone):
    report_scan(brand, customer, sku="A", title="A")
    assert Reward.objects.get().stock == 1

    context = AuditContext(staff(brand), timezone.now(), "", "Broken")
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=context)

    assert Reward.objects.get().stock == 2


def test_won_reward_uses_one_partner_code(brand, customer, milestone, mug):
    Reward.objects.update(stock=None, uses_pool=True)
    expiry = timezone.now() + timedelta(days=3)
    for number in range(2):
        PoolCode.objects.create(
            brand=brand, reward=mug, code=f"V-{number}", digest=pools.digest(str(number)), ending="", expires_at=expiry
        )

    report_scan(brand, customer, sku="A", title="A")

    redemption = Redemption.objects.get()
    assert PoolCode.objects.get(redemption=redemption).code == "V-0"
    assert redemption.expires_at == expiry
    assert PoolCode.objects.filter(redemption__isnull=True).count() == 1


def test_reward_waits_while_its_pool_is_empty(brand, customer, milestone):
    Reward.objects.update(stock=None, uses_pool=True)

    report_scan(brand, customer, sku="A", title="A")

    assert (RewardClaim.objects.get().status, Redemption.objects.count()) == ("available", 0)


def test_reward_without_a_cost_cannot_be_bought(customer_api, brand, customer, mug):
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
def test_database_rejects_a_reward_of_another_brand(brand, mug, is_new):
    foreign_reward = factories.reward(factories.brand(), name="Theirs")
    campaign = factories.campaign(brand)
    existing = None if is_new else factories.milestone(campaign, 1)

    with pytest.raises(IntegrityError, match="another brand"), transaction.atomic():
        if existing:
            Milestone.objects.filter(pk=existing.pk).update(reward=foreign_reward)
        else:
            factories.milestone(campaign, 1, reward=foreign_reward)


def test_database_rejects_a_milestone_with_points_and_a_reward(brand, mug):
    with pytest.raises(IntegrityError, match="milestone_gives_points_or_a_reward"), transaction.atomic():
        factories.milestone(factories.campaign(brand), 1, reward=mug, reward_points=5)


# --- Races


def create_members_with_claims(brand, mug, count):
    campaign = factories.campaign(brand, target_value=1)
    milestone = factories.milestone(campaign, 1, reward=mug, auto_claim=False)
    members = [factories.customer(brand) for _ in range(count)]
    for each in members:
        factories.points(each, brand, 10)
        RewardClaim.objects.create(milestone=milestone, user=each)
    return milestone, members


def claim_or_buy(brand, mug, milestone):
    """Return the work of one member: odd ones claim the reward that they won, even ones buy it."""

    def act(item):
        number, member = item
        at = timezone.now()
        if number % 2:
            claims.claim(brand_id=brand.pk, user_id=member.pk, milestone_id=milestone.pk, at=at)
        else:
            redeem.redeem(RedemptionRequest(brand.pk, member.pk, mug.pk, uuid.uuid4(), at))

    return act


@pytest.mark.django_db(transaction=True)
def test_concurrent_claims_and_purchases_share_one_stock():
    brand = factories.brand()
    factories.level(brand)
    mug = factories.reward(brand, cost=10, stock=5)
    milestone, members = create_members_with_claims(brand, mug, 20)

    results = run_concurrently(claim_or_buy(brand, mug, milestone), list(enumerate(members)))

    outcomes = Counter("given" if each is None else each.code for each in results)
    assert outcomes == {"given": 5, "OUT_OF_STOCK": 15}
    assert (Reward.objects.get().stock, Redemption.objects.count()) == (0, 5)
    assert RewardClaim.objects.filter(status="claimed").count() == Redemption.objects.filter(cost=0).count()


@pytest.mark.django_db(transaction=True)
def test_control_more_rewards_are_granted_than_in_stock_without_the_condition(monkeypatch):
    """Threads that read the stock some time before they reduce it grant the same piece twice."""
    brand = factories.brand()
    factories.level(brand)
    mug = factories.reward(brand, cost=10, stock=1)
    milestone, members = create_members_with_claims(brand, mug, 8)

    class StockReadBefore(QuerySet):
        """The condition applies to the stock read now, instead of that at the update."""

        def filter(self, *arguments, **conditions):
            rows = super().filter(*arguments, **conditions)
            if "stock__gt" not in conditions:
                return rows
            row_ids = [row.pk for row in rows]
            time.sleep(0.2)
            return Reward.objects.filter(pk__in=row_ids)

    monkeypatch.setattr(grants, "Reward", SimpleNamespace(objects=StockReadBefore(Reward)))
    monkeypatch.setattr(grants, "F", lambda _name: mug.stock)

    run_concurrently(
        lambda member: claims.claim(brand_id=brand.pk, user_id=member.pk, milestone_id=milestone.pk, at=timezone.now()),
        members,
    )

    assert Redemption.objects.filter(reward=mug).count() > 1
    assert Reward.objects.get().stock == 0
