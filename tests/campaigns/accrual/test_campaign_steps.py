"""Campaigns that count money or products, that are repeated, that count some actions only, and that have a budget."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from brands.models.tenants import Brand
from brands.staff_login.models import StaffMail
from campaigns.earning import budgets
from campaigns.models.campaigns import Campaign, CampaignBudget, RewardClaim, UserLoyaltyCampaign
from campaigns.progress import consistency, results
from campaigns.progress.overview import standings
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from loyalty.models.rewards import Redemption
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import order, row
from tests.support import factories, shop
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_contradicts():
    yield
    assert contradictions() == []


def contradictions():
    """What `check_ledger` would find of progress, read in the test's own transaction."""
    found = []
    with connection.cursor() as cursor:
        for check, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            found += [(check, *each) for each in cursor.fetchall()]
    return found


def bought(brand, customer, number, subtotal, *items, **fields):
    return report(brand, customer, "order-complete", order(number, *items, subtotal=subtotal, **fields)).outcome


def scanned(brand, customer, product=None, **fields):
    code = factories.code(brand, product=product or factories.product(brand, **fields))
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    return report(brand, customer, "scan-auth", payload).outcome


def of_money(brand, target=100, **fields):
    return factories.campaign(brand, type="order", step_by="amount", target_value=target, **fields)


def standing(row=None):
    found = row or UserLoyaltyCampaign.objects.get()
    return (found.progress, found.round)


# --- Steps


def test_a_campaign_counts_the_money_that_was_paid(brand, customer):
    of_money(brand)

    first = bought(brand, customer, "A", "59.90", discount="10")["campaigns"][0]
    second = bought(brand, customer, "B", "60")["campaigns"][0]

    assert (first["progress"], first["exact_progress"], first["step"]) == (49, 49.9, 49.9)
    assert (second["progress"], second["exact_progress"], second["step"]) == (100, 100, 50.1)
    assert standing() == (100, 1)


def test_money_beyond_the_goal_counts_no_more(brand, customer):
    of_money(brand)
    bought(brand, customer, "A", "99.99")
    bought(brand, customer, "B", "500")

    assert bought(brand, customer, "C", "10")["campaigns"][0]["step"] == 0
    assert standing() == (100, 1)
    [shown] = standings(brand_id=brand.pk, user_id=customer.pk, at=timezone.now())
    assert (shown.progress, shown.exact_progress) == (100, 100)


def test_a_scan_counts_the_price_of_its_product(brand, customer):
    factories.campaign(brand, step_by="amount", target_value=100)

    assert scanned(brand, customer, sku="A", title="A", retail_price="19.90")["campaigns"][0]["exact_progress"] == 19.9


def test_different_products_count_once_each(brand, customer):
    campaign = factories.campaign(brand, step_by="products", target_value=3)
    factories.milestone(campaign, 2, reward_points=5)
    serum, cream = (factories.product(brand, sku=each, title=each) for each in ("SER", "CRE"))

    told = [scanned(brand, customer, each)["campaigns"][0] for each in (serum, serum, cream)]

    assert [each["progress"] for each in told] == [1, 1, 2]
    assert [each["milestone_achieved"] for each in told] == [False, False, True]
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

    told = [scanned(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(5)]
    worker.drain()

    assert [(each["progress"], each["round"]) for each in told] == [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]
    assert [each["milestone_achieved"] for each in told] == [False, True, False, True, False]
    reasons = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").order_by("pk")
    assert [each.reason_id for each in reasons] == [f"milestone:{mug.pk}", f"milestone:{mug.pk}:2"]
    assert [each.points_earned for each in reasons] == [7, 7]


def test_what_is_beyond_the_goal_counts_in_the_next_round(brand, customer):
    factories.milestone(of_money(brand, is_repeatable=True), 100, reward_points=5)

    told = bought(brand, customer, "A", "250")["campaigns"][0]

    assert (told["progress"], told["round"], told["step"]) == (50, 3, 50)
    assert RewardClaim.objects.count() == 2
    assert sorted(RewardClaim.objects.values_list("round", flat=True)) == [1, 2]


def test_one_action_finishes_ten_rounds_at_most(brand, customer):
    factories.milestone(of_money(brand, target=1, is_repeatable=True), 1, reward_points=5)

    bought(brand, customer, "A", "1000000")

    assert standing() == (1, 10)
    assert RewardClaim.objects.count() == 10


def test_products_count_again_in_the_next_round(brand, customer):
    factories.campaign(brand, step_by="products", target_value=2, is_repeatable=True)
    first, second = (factories.product(brand, sku=each, title=each) for each in "AB")

    told = [scanned(brand, customer, each)["campaigns"][0] for each in (first, second, first)]

    assert [(each["progress"], each["round"]) for each in told] == [(1, 1), (2, 1), (1, 2)]
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

    told = [bought(brand, customer, str(number), "10").get("campaigns") for number in range(3)]

    assert [each and len(each) for each in told] == [None, None, 1]
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


# --- Returns


@pytest.fixture
def recomputing(brand):
    Brand.objects.filter(pk=brand.pk).update(after_return=Brand.AfterReturn.RECOMPUTE)
    factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


@pytest.mark.usefixtures("recomputing")
def test_returns_take_back_exactly_the_money_that_was_counted(brand, customer):
    of_money(brand, target=1000)
    shop.buy(brand, customer, "A-1", subtotal="100.00")
    shop.buy(brand, customer, "A-2", subtotal="50.00")

    left = []
    for number, amount in enumerate(["33.33", "33.33", "33.33", "0.01"]):
        shop.give_back(brand, customer, "A-1", return_id=f"R-{number}", amount=amount)
        left.append(UserLoyaltyCampaign.objects.get().progress)

    assert left == [Decimal("116.67"), Decimal("83.34"), Decimal("50.01"), Decimal("50.00")]


@pytest.mark.usefixtures("recomputing")
def test_the_first_order_s_return_leaves_nothing(brand, customer):
    factories.campaign(brand, type="order")
    shop.buy(brand, customer)

    assert shop.cancel(brand, customer).outcome["campaigns_stepped_back"][0]["progress"] == 0
    assert standing() == (0, 1)
    shop.buy(brand, customer, "A-2")
    assert standing() == (1, 1)


@pytest.mark.usefixtures("recomputing")
def test_a_finished_round_stays_finished(brand, customer):
    of_money(brand, is_repeatable=True)
    shop.buy(brand, customer, "A-1", subtotal="90.00")
    shop.buy(brand, customer, "A-2", subtotal="30.00")

    shop.cancel(brand, customer, "A-1")
    assert standing() == (20, 2)
    shop.cancel(brand, customer, "A-2")
    assert standing() == (0, 2)


@pytest.mark.usefixtures("recomputing")
def test_products_of_a_returned_order_count_again(brand, customer):
    factories.campaign(brand, type="order", step_by="products", target_value=5)
    serum = factories.product(brand, sku="SER", title="Serum")
    items = [{"sku": "SER", "quantity": 1, "unitPrice": "100.00"}]
    shop.buy(brand, customer, "A-1", subtotal="100.00", items=items)
    assert UserLoyaltyCampaign.objects.get().products == [serum.pk]

    shop.cancel(brand, customer, "A-1")

    assert (standing(), UserLoyaltyCampaign.objects.get().products) == ((0, 1), [])


@pytest.mark.usefixtures("recomputing")
def test_a_reward_that_is_withdrawn_goes_back_to_the_budget(brand, customer):
    campaign = of_money(brand, target=1000, budget=50)
    factories.milestone(campaign, 100, reward_points=40, auto_claim=False)
    shop.buy(brand, customer, subtotal="100.00")
    assert CampaignBudget.objects.get().points == 40

    shop.cancel(brand, customer)

    assert (CampaignBudget.objects.get().points, RewardClaim.objects.count()) == (0, 0)


# --- Budget


def test_a_budget_is_given_out_and_then_milestones_pay_nothing(brand):
    campaign = factories.campaign(brand, budget=25)
    factories.milestone(campaign, 1, reward_points=10)
    customers = [factories.customer(brand) for _ in range(3)]

    told = [scanned(brand, each, sku=each.email, title="S")["campaigns"][0] for each in customers]
    worker.drain()

    assert [each["milestone_achieved"] for each in told] == [True, True, False]
    assert CampaignBudget.objects.get().points == 20
    assert LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").count() == 2
    assert all(each.milestones_achieved for each in UserLoyaltyCampaign.objects.all())


def test_things_cost_no_budget(brand, customer):
    campaign = factories.campaign(brand, budget=1, target_value=2)
    factories.milestone(campaign, 1, reward_points=2)
    factories.milestone(campaign, 2)

    told = [scanned(brand, customer, sku=f"S{n}", title="S")["campaigns"][0] for n in range(2)]

    assert [each["milestone_achieved"] for each in told] == [False, True]


def test_a_budget_that_is_set_later_counts_what_was_paid_before(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10)
    scanned(brand, customer, sku="A", title="A")
    assert CampaignBudget.objects.get().points == 0

    Campaign.objects.update(budget=15)

    assert CampaignBudget.objects.get().points == 10
    other = factories.customer(brand)
    assert not scanned(brand, other, sku="B", title="B")["campaigns"][0]["milestone_achieved"]


def test_a_claim_pays_what_the_milestone_paid_when_it_was_reached(api, brand, customer):
    campaign = factories.campaign(brand, budget=15)
    mug = factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    scanned(brand, customer, sku="A", title="A")
    mug.reward_points = 90
    mug.save()

    answer = api.as_customer(customer).post(f"customer/loyalty/milestones/{mug.pk}/claim").json()

    assert answer["data"]["points"] == 10
    worker.drain()
    assert LoyaltyTransaction.objects.get(reason_id=f"milestone:{mug.pk}").points_earned == 10


@pytest.mark.parametrize(("budget", "told"), [(25, [1, 0]), (100, [0, 0])])
def test_owners_hear_once_that_a_budget_is_used_up(brand, budget, told):
    owner = staff(brand, role="owner", email="olivia@example.com")
    campaign = factories.campaign(brand, budget=budget)
    factories.milestone(campaign, 1, reward_points=20)
    scanned(brand, factories.customer(brand), sku="A", title="A")

    assert [budgets.notify_used_up(at=timezone.now()) for _ in range(2)] == told
    mails = StaffMail.objects.filter(user=owner, kind="budget")
    assert ["“Scan and win” has paid 20 points" in each.text for each in mails] == [True] * told[0]
    Campaign.objects.update(budget=budget + 1)
    assert CampaignBudget.objects.get().notified_at is None


# --- Results


def test_results_count_members_rewards_points_and_their_cost(brand):
    PointCost.objects.create(brand=brand, valid_from="2026-01-01", cost="0.01")
    campaign = factories.campaign(brand, target_value=1, is_repeatable=True)
    factories.milestone(campaign, 1, reward_points=10)
    first, second = factories.customer(brand), factories.customer(brand)
    for number, each in enumerate((first, first, second)):
        scanned(brand, each, sku=f"S{number}", title="S")

    got = results.results_of(campaign)

    assert (got.participants, got.reached, got.rounds) == (2, 2, 3)
    assert (got.claimed, got.waiting, got.points, got.points_waiting) == (3, 0, 30, 0)
    assert got.cost == Decimal("0.30")


def test_results_without_a_cost_say_so(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=10, auto_claim=False)
    scanned(brand, customer, sku="A", title="A")

    got = results.results_of(campaign)

    assert (got.reached, got.waiting, got.points, got.points_waiting) == (0, 1, 0, 10)
    assert got.cost == 0
    RewardClaim.objects.update(status="claimed", claimed_at=timezone.now())
    assert results.results_of(campaign).cost is None
