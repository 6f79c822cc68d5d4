"""Campaigns that count amounts or products, repeat, or count only some actions."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone, translation

from campaigns.accrual import scopes
from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from campaigns.progress.overview import campaign_statuses
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Redemption
from tests.campaigns.accrual.conftest import amount_campaign, progress_of, report_order, report_scan
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import row
from tests.support import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("progress_is_consistent")]


# --- Steps


def test_campaign_counts_the_amount_paid_after_discount(brand, customer):
    amount_campaign(brand)

    first = report_order(brand, customer, "A", "59.90", discount="10")["campaigns"][0]
    second = report_order(brand, customer, "B", "60")["campaigns"][0]

    assert (first["progress"], first["exact_progress"], first["step"]) == (49, 49.9, 49.9)
    assert (second["progress"], second["exact_progress"], second["step"]) == (100, 100, 50.1)
    assert progress_of() == (100, 1)


def test_campaign_is_described_with_numbers_in_the_readers_language(brand):
    campaign = amount_campaign(brand, 1500, budget=Decimal("20000.50"))

    with translation.override("de"):
        assert "1.500, höchstens 20.000,5 Punkte" in scopes.sentence(campaign)


def test_amount_beyond_the_goal_is_not_counted(brand, customer):
    amount_campaign(brand)
    report_order(brand, customer, "A", "99.99")
    report_order(brand, customer, "B", "500")

    assert report_order(brand, customer, "C", "10")["campaigns"][0]["step"] == 0
    assert progress_of() == (100, 1)
    [status] = campaign_statuses(brand_id=brand.pk, user_id=customer.pk, at=timezone.now())
    assert (status.progress, status.exact_progress) == (100, 100)


def test_a_scan_counts_the_price_of_its_product(brand, customer):
    factories.campaign(brand, step_by="amount", target_value=100)

    assert (
        report_scan(brand, customer, sku="A", title="A", retail_price="19.90")["campaigns"][0]["exact_progress"] == 19.9
    )


def test_each_product_counts_once(brand, customer):
    campaign = factories.campaign(brand, step_by="products", target_value=3)
    factories.milestone(campaign, 2, reward_points=5)
    serum, cream = (factories.product(brand, sku=each, title=each) for each in ("SER", "CRE"))

    results = [report_scan(brand, customer, each)["campaigns"][0] for each in (serum, serum, cream)]

    assert [each["progress"] for each in results] == [1, 1, 2]
    assert [each["milestone_achieved"] for each in results] == [False, False, True]
    assert UserLoyaltyCampaign.objects.get().products == [serum.pk, cream.pk]


def test_order_counts_only_products_of_its_brand(brand, customer):
    factories.campaign(brand, type="order", step_by="products", target_value=5)
    serum = factories.product(brand, sku="SER", title="Serum")
    other = factories.product(factories.brand(), sku="OTHER", title="Not theirs")
    items = [
        {"sku": "SER", "quantity": 2, "unitPrice": "20.00"},
        {"productId": other.pk, "sku": "OTHER", "quantity": 1, "unitPrice": "2.00"},
        {"sku": "unknown", "quantity": 1, "unitPrice": "50.00"},
    ]

    assert report_order(brand, customer, "A", "92", *items)["campaigns"][0]["products"] == [serum.pk]


@pytest.mark.parametrize("kind", ["login", "profile"])
def test_login_and_profile_campaigns_cannot_count_amounts(brand, kind):
    campaign = Campaign(brand=brand, campaign_name="Spend", type=kind, target_value=5, step_by="amount")

    with pytest.raises(ValidationError, match="Only scans and orders"):
        campaign.full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        campaign.save()


# --- Rounds


def test_repeatable_campaign_starts_a_new_round_with_the_next_action(brand, customer):
    campaign = factories.campaign(brand, target_value=2, is_repeatable=True)
    milestone = factories.milestone(campaign, 2, reward_points=7)

    results = [report_scan(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(5)]
    worker.drain()

    assert [(each["progress"], each["round"]) for each in results] == [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]
    assert [each["milestone_achieved"] for each in results] == [False, True, False, True, False]
    reasons = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").order_by("pk")
    assert [each.reason_id for each in reasons] == [f"milestone:{milestone.pk}", f"milestone:{milestone.pk}:2"]
    assert [each.points_earned for each in reasons] == [7, 7]


def test_amount_beyond_the_goal_counts_in_the_next_round(brand, customer):
    factories.milestone(amount_campaign(brand, is_repeatable=True), 100, reward_points=5)

    result = report_order(brand, customer, "A", "250")["campaigns"][0]

    assert (result["progress"], result["round"], result["step"]) == (50, 3, 50)
    assert RewardClaim.objects.count() == 2
    assert sorted(RewardClaim.objects.values_list("round", flat=True)) == [1, 2]


def test_one_action_finishes_at_most_ten_rounds(brand, customer):
    factories.milestone(amount_campaign(brand, target=1, is_repeatable=True), 1, reward_points=5)

    report_order(brand, customer, "A", "1000000")

    assert progress_of() == (1, 10)
    assert RewardClaim.objects.count() == 10


def test_products_count_again_in_the_next_round(brand, customer):
    factories.campaign(brand, step_by="products", target_value=2, is_repeatable=True)
    first, second = (factories.product(brand, sku=each, title=each) for each in "AB")

    results = [report_scan(brand, customer, each)["campaigns"][0] for each in (first, second, first)]

    assert [(each["progress"], each["round"]) for each in results] == [(1, 1), (2, 1), (1, 2)]
    assert UserLoyaltyCampaign.objects.get().products == [first.pk]


def test_each_round_issues_a_separate_redemption_code(brand, customer):
    factories.milestone(factories.campaign(brand, target_value=1, is_repeatable=True), 1, auto_claim=True)

    for number in range(2):
        report_scan(brand, customer, sku=f"S{number}", title="S")
    worker.drain()

    assert sorted(Redemption.objects.values_list("milestone_round", flat=True)) == [1, 2]
    assert len(set(Redemption.objects.values_list("code", flat=True))) == 2


def test_waiting_rewards_are_claimed_one_round_at_a_time(api, brand, customer):
    milestone = factories.milestone(factories.campaign(brand, target_value=1, is_repeatable=True), 1, auto_claim=False)
    for number in range(2):
        report_scan(brand, customer, sku=f"S{number}", title="S")
    customer_api = api.as_customer(customer)

    ids = [
        customer_api.post(f"customer/loyalty/milestones/{milestone.pk}/claim").json()["data"]["redemption_id"]
        for _ in range(3)
    ]

    assert ids[0] != ids[1] == ids[2]
    assert set(RewardClaim.objects.values_list("status", flat=True)) == {"claimed"}


# --- Conditions


def test_only_actions_that_fulfil_the_conditions_count(brand, customer):
    serums = {"all": [row("category", "in", ["Serums"])]}
    factories.campaign(brand, conditions=serums)

    assert "campaigns" not in report_scan(brand, customer, sku="A", title="A", category="Soaps")
    assert report_scan(brand, customer, sku="B", title="B", category="Serums")["campaigns"][0]["progress"] == 1


def test_amount_counts_only_items_that_match_the_conditions(brand, customer):
    factories.product(brand, sku="SER", title="Serum", category="Serums")
    amount_campaign(brand, conditions={"all": [row("category", "in", ["Serums"])]})
    items = [
        {"sku": "SER", "quantity": 1, "unitPrice": "40.00"},
        {"sku": "SOAP", "quantity": 1, "unitPrice": "60.00"},
    ]

    assert report_order(brand, customer, "A", "100", *items, discount="50")["campaigns"][0]["step"] == 20


def test_conditions_can_use_the_order_count_and_the_days_since_the_last(brand, customer):
    factories.earning_rule(brand, "order-complete", 1)
    third, after_a_break = (
        {"all": [row(*each)]} for each in (("nth", "at_least", 3), ("days_since_last", "at_least", 30))
    )
    factories.campaign(brand, type="order", campaign_name="From the third", conditions=third)
    comeback = factories.campaign(brand, type="order", campaign_name="Back", conditions=after_a_break)
    returning_customer = factories.customer(brand)
    factories.points(returning_customer, brand, 5, reason_id="order:old", at=timezone.now() - timedelta(days=31))

    results = [report_order(brand, customer, str(number), "10").get("campaigns") for number in range(3)]

    assert [each and len(each) for each in results] == [None, None, 1]
    assert [each["campaign_id"] for each in report_order(brand, returning_customer, "late", "10")["campaigns"]] == [
        comeback.pk
    ]


def test_profile_update_counts_when_one_of_its_fields_matches(brand, customer):
    factories.earning_rule(brand, "log-user-profile-update", 1)
    conditions = {"all": [row("profile_field", "in", ["birthday"])]}
    factories.campaign(brand, type="profile", conditions=conditions)
    kind = "log-user-profile-update"

    first = report(brand, customer, kind, {"type": "profile", "completedFields": ["phone"]}).outcome
    second = report(brand, customer, kind, {"type": "profile", "completedFields": ["city", "birthday"]}).outcome

    assert "campaigns" not in first
    assert second["campaigns"][0]["progress"] == 1


def test_action_without_a_matching_campaign_or_rule_is_not_eligible(brand, customer):
    factories.campaign(brand, type="login", conditions={"all": [row("channel", "in", ["app"])]})

    assert report(brand, customer, "log-user-login", {"type": "login"}).outcome["error"] == "NOT_ELIGIBLE"
