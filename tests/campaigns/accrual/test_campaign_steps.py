"""Campaigns that count money or products, that are repeated, and that count some actions only."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from campaigns.progress.overview import campaign_statuses
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption
from tests.campaigns.accrual.conftest import bought, of_money, progress_of, scanned
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import row
from tests.support import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_contradicts")]


# --- Steps


def test_a_campaign_counts_the_money_that_was_paid(brand, customer):
    of_money(brand)

    first = bought(brand, customer, "A", "59.90", discount="10")["campaigns"][0]
    second = bought(brand, customer, "B", "60")["campaigns"][0]

    assert (first["progress"], first["exact_progress"], first["step"]) == (49, 49.9, 49.9)
    assert (second["progress"], second["exact_progress"], second["step"]) == (100, 100, 50.1)
    assert progress_of() == (100, 1)


def test_money_beyond_the_goal_counts_no_more(brand, customer):
    of_money(brand)
    bought(brand, customer, "A", "99.99")
    bought(brand, customer, "B", "500")

    assert bought(brand, customer, "C", "10")["campaigns"][0]["step"] == 0
    assert progress_of() == (100, 1)
    [shown] = campaign_statuses(brand_id=brand.pk, user_id=customer.pk, at=timezone.now())
    assert (shown.progress, shown.exact_progress) == (100, 100)


def test_a_scan_counts_the_price_of_its_product(brand, customer):
    factories.campaign(brand, step_by="amount", target_value=100)

    assert scanned(brand, customer, sku="A", title="A", retail_price="19.90")["campaigns"][0]["exact_progress"] == 19.9


def test_different_products_count_once_each(brand, customer):
    campaign = factories.campaign(brand, step_by="products", target_value=3)
    factories.milestone(campaign, 2, reward_points=5)
    serum, cream = (factories.product(brand, sku=each, title=each) for each in ("SER", "CRE"))

    results = [scanned(brand, customer, each)["campaigns"][0] for each in (serum, serum, cream)]

    assert [each["progress"] for each in results] == [1, 1, 2]
    assert [each["milestone_achieved"] for each in results] == [False, False, True]
    assert UserLoyaltyCampaign.objects.get().products == [serum.pk, cream.pk]


def test_an_order_counts_the_brand_s_own_products_alone(brand, customer):
    factories.campaign(brand, type="order", step_by="products", target_value=5)
    serum = factories.product(brand, sku="SER", title="Serum")
    other = factories.product(factories.brand(), sku="OTHER", title="Not theirs")
    items = [
        {"sku": "SER", "quantity": 2, "unitPrice": "20.00"},
        {"productId": other.pk, "sku": "OTHER", "quantity": 1, "unitPrice": "2.00"},
        {"sku": "unknown", "quantity": 1, "unitPrice": "50.00"},
    ]

    assert bought(brand, customer, "A", "92", *items)["campaigns"][0]["products"] == [serum.pk]


@pytest.mark.parametrize("kind", ["login", "profile"])
def test_only_scans_and_orders_have_money_and_products(brand, kind):
    campaign = Campaign(brand=brand, campaign_name="Spend", type=kind, target_value=5, step_by="amount")

    with pytest.raises(ValidationError, match="Only scans and orders"):
        campaign.full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        campaign.save()


# --- Rounds


def test_a_repeatable_campaign_begins_again_with_the_next_action(brand, customer):
    campaign = factories.campaign(brand, target_value=2, is_repeatable=True)
    mug = factories.milestone(campaign, 2, reward_points=7)

    results = [scanned(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(5)]
    worker.drain()

    assert [(each["progress"], each["round"]) for each in results] == [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]
    assert [each["milestone_achieved"] for each in results] == [False, True, False, True, False]
    reasons = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").order_by("pk")
    assert [each.reason_id for each in reasons] == [f"milestone:{mug.pk}", f"milestone:{mug.pk}:2"]
    assert [each.points_earned for each in reasons] == [7, 7]


def test_what_is_beyond_the_goal_counts_in_the_next_round(brand, customer):
    factories.milestone(of_money(brand, is_repeatable=True), 100, reward_points=5)

    result = bought(brand, customer, "A", "250")["campaigns"][0]

    assert (result["progress"], result["round"], result["step"]) == (50, 3, 50)
    assert RewardClaim.objects.count() == 2
    assert sorted(RewardClaim.objects.values_list("round", flat=True)) == [1, 2]


def test_one_action_finishes_ten_rounds_at_most(brand, customer):
    factories.milestone(of_money(brand, target=1, is_repeatable=True), 1, reward_points=5)

    bought(brand, customer, "A", "1000000")

    assert progress_of() == (1, 10)
    assert RewardClaim.objects.count() == 10


def test_products_count_again_in_the_next_round(brand, customer):
    factories.campaign(brand, step_by="products", target_value=2, is_repeatable=True)
    first, second = (factories.product(brand, sku=each, title=each) for each in "AB")

    results = [scanned(brand, customer, each)["campaigns"][0] for each in (first, second, first)]

    assert [(each["progress"], each["round"]) for each in results] == [(1, 1), (2, 1), (1, 2)]
    assert UserLoyaltyCampaign.objects.get().products == [first.pk]


def test_a_thing_is_given_in_each_round_with_a_code_of_its_own(brand, customer):
    factories.milestone(factories.campaign(brand, target_value=1, is_repeatable=True), 1, auto_claim=True)

    for number in range(2):
        scanned(brand, customer, sku=f"S{number}", title="S")
    worker.drain()

    assert sorted(Redemption.objects.values_list("milestone_round", flat=True)) == [1, 2]
    assert len(set(Redemption.objects.values_list("code", flat=True))) == 2


def test_rewards_that_wait_are_claimed_one_round_after_the_other(api, brand, customer):
    mug = factories.milestone(factories.campaign(brand, target_value=1, is_repeatable=True), 1, auto_claim=False)
    for number in range(2):
        scanned(brand, customer, sku=f"S{number}", title="S")
    own = api.as_customer(customer)

    ids = [own.post(f"customer/loyalty/milestones/{mug.pk}/claim").json()["data"]["redemption_id"] for _ in range(3)]

    assert ids[0] != ids[1] == ids[2]
    assert set(RewardClaim.objects.values_list("status", flat=True)) == {"claimed"}


# --- Conditions


def test_only_actions_that_fulfil_the_conditions_count(brand, customer):
    serums = {"all": [row("category", "in", ["Serums"])]}
    factories.campaign(brand, conditions=serums)

    assert "campaigns" not in scanned(brand, customer, sku="A", title="A", category="Soaps")
    assert scanned(brand, customer, sku="B", title="B", category="Serums")["campaigns"][0]["progress"] == 1


def test_money_counts_for_the_items_of_the_conditions_alone(brand, customer):
    factories.product(brand, sku="SER", title="Serum", category="Serums")
    of_money(brand, conditions={"all": [row("category", "in", ["Serums"])]})
    items = [
        {"sku": "SER", "quantity": 1, "unitPrice": "40.00"},
        {"sku": "SOAP", "quantity": 1, "unitPrice": "60.00"},
    ]

    assert bought(brand, customer, "A", "100", *items, discount="50")["campaigns"][0]["step"] == 20


def test_the_n_th_order_and_the_member_s_past_can_be_asked_for(brand, customer):
    factories.earning_rule(brand, "order-complete", 1)
    third, back = ({"all": [row(*each)]} for each in (("nth", "at_least", 3), ("days_since_last", "at_least", 30)))
    factories.campaign(brand, type="order", campaign_name="From the third", conditions=third)
    returning = factories.campaign(brand, type="order", campaign_name="Back", conditions=back)
    away = factories.customer(brand)
    factories.points(away, brand, 5, reason_id="order:old", at=timezone.now() - timedelta(days=31))

    results = [bought(brand, customer, str(number), "10").get("campaigns") for number in range(3)]

    assert [each and len(each) for each in results] == [None, None, 1]
    assert [each["campaign_id"] for each in bought(brand, away, "late", "10")["campaigns"]] == [returning.pk]


def test_a_profile_counts_where_one_of_its_fields_fulfils_the_conditions(brand, customer):
    factories.earning_rule(brand, "log-user-profile-update", 1)
    conditions = {"all": [row("profile_field", "in", ["birthday"])]}
    factories.campaign(brand, type="profile", conditions=conditions)
    kind = "log-user-profile-update"

    first = report(brand, customer, kind, {"type": "profile", "completedFields": ["phone"]}).outcome
    second = report(brand, customer, kind, {"type": "profile", "completedFields": ["city", "birthday"]}).outcome

    assert "campaigns" not in first
    assert second["campaigns"][0]["progress"] == 1


def test_what_no_campaign_counts_and_no_rule_is_for_is_not_eligible(brand, customer):
    factories.campaign(brand, type="login", conditions={"all": [row("channel", "in", ["app"])]})

    assert report(brand, customer, "log-user-login", {"type": "login"}).outcome["error"] == "NOT_ELIGIBLE"
