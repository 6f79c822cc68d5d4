"""Actions that earn by a brand's rules: from the event to the ledger, with versions and reasons."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from campaigns.accrual import snapshot
from campaigns.earning import rules
from campaigns.models.earning_rules import EarningRule, EarningRuleBudgetUse, EarningRuleVersion
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import KIND_TITLES, RULE, Share, shares_of, texts_of
from tests.campaigns.accrual.test_handlers import report
from tests.campaigns.earning.earning_rules import earned, limit, order, record_scan, row, rule, scan
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """A brand whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def test_scan_without_rules_earns_level_points_with_an_explanation(brand, customer):
    brand.levels.update(scan_reward_value=7)

    assert scan(brand, customer) == 7
    entry = LoyaltyTransaction.objects.get()
    assert entry.details["rules"] == 0
    assert texts_of(entry.details, "en") == [f"{brand.levels.get().name}: 7"]


def test_rule_applies_only_to_actions_that_fulfil_its_conditions(brand, customer):
    rule(brand, all_of=[row("category", "in", ["Serums"]), row("tags", "in", ["new"])])

    assert scan(brand, customer, category="Serums", tags=["New"]) == 2
    assert scan(brand, customer, category="Serums") == 1
    assert scan(brand, customer, category="Soaps", tags=["new"]) == 1


def test_ledger_entry_stores_the_share_of_each_rule(brand, customer):
    brand.levels.update(name="Gold", scan_reward_type="percentage", scan_reward_value=5)
    double = rule(brand, name="Double December", translations={"de": {"name": "Doppelter Dezember"}})
    rule(brand, value=3, effect="bonus", name="Hello", limits=[limit(most=1)])

    assert scan(brand, customer, retail_price="49.90") == 5
    entry = LoyaltyTransaction.objects.get()
    assert texts_of(entry.details, "en") == [
        "Gold: 5 % of 49.90 = 2",
        "Double December: 2 x 2, that is 2 more",
        "Hello: 1 (at most 1 in all)",
    ]
    assert texts_of(entry.details, "de")[1].startswith("Doppelter Dezember: ")
    assert [(each.rule_id, each.version) for each in shares_of(entry.details)][1] == (double.pk, 1)
    assert entry.details["rules"] == 2


def test_unnamed_rule_and_numbers_use_the_readers_language(brand, customer):
    rule(brand, "scan-auth", 5, "percentage", name="")

    scan(brand, customer, retail_price="228.99")

    details = LoyaltyTransaction.objects.get().details
    with translation.override("de"):
        assert any(each.startswith("Produkt gescannt: 5 % von 228,99 = ") for each in texts_of(details, "de"))


def test_rule_named_by_the_brand_is_not_translated(brand, customer):
    rule(brand, "scan-auth", 5, name="Order")

    scan(brand, customer)

    details = LoyaltyTransaction.objects.get().details
    with translation.override("de"):
        assert any(each.startswith("Order: ") for each in texts_of(details, "de"))


def test_unnamed_rules_use_the_titles_of_their_kinds():
    with translation.override("en"):
        assert {str(label) for label in EarningRule.Kind.labels} == KIND_TITLES


def test_numbers_are_rounded_to_two_places():
    share = Share(RULE, "percentage", Decimal("2.5"), Decimal("0.5"), basis=Decimal("19.9999"))
    with translation.override("en"):
        assert share.text("en") == "2.50 % of 20.00 = 0.50"


def test_rule_change_applies_to_the_next_action(brand, customer):
    assert scan(brand, customer) == 1
    new_rule = rule(brand)
    assert scan(brand, customer) == 2
    EarningRule.objects.filter(pk=new_rule.pk).update(reward_value=3)
    assert scan(brand, customer) == 3
    new_rule.state = EarningRule.State.PAUSED
    new_rule.save()
    assert scan(brand, customer) == 1
    new_rule.delete()
    assert scan(brand, customer) == 1


def test_rule_applies_by_the_time_of_the_action(brand, customer):
    now = timezone.now()
    rule(brand, starts_at=now - timedelta(hours=2), ends_at=now - timedelta(hours=1))
    code = factories.code(brand)

    assert scan(brand, customer) == 1
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    assert report(brand, customer, "scan-auth", payload, at=now - timedelta(minutes=90)).outcome["points_earned"] == 2


@pytest.mark.parametrize("state", ["draft", "paused", "ended"])
def test_inactive_rule_gives_nothing(brand, customer, state):
    rule(brand, state=state)

    assert scan(brand, customer) == 1


def test_rules_count_the_first_order_and_every_third_scan(brand, customer):
    rule(brand, "order-complete", 50, "points", name="First", all_of=[row("nth", "is", 1)])
    rule(brand, "order-complete", 1, "points", name="Each")
    rule(brand, value=10, all_of=[row("nth", "every", 3)])

    for number in range(3):
        report(brand, customer, "order-complete", order(f"A-{number}"))
    assert [scan(brand, customer) for _ in range(4)] == [1, 1, 10, 1]
    assert earned()[:3] == [51, 1, 1]


def test_rule_rewards_a_member_who_returns_after_a_break(brand, customer):
    rule(brand, value=5, all_of=[row("days_since_last", "at_least", 30)])
    assert scan(brand, customer) == 1
    factories.points(factories.customer(brand), brand, 5, at=timezone.now() - timedelta(days=31))
    returning_customer = factories.customer(brand)
    factories.points(returning_customer, brand, 5, reason_id="order:old", at=timezone.now() - timedelta(days=31))

    assert scan(brand, returning_customer) == 5


def test_order_items_use_the_catalogue_of_the_brand(brand, customer):
    serum = factories.product(brand, sku="SER", title="Serum", category="Serums")
    factories.product(factories.brand(), sku="OTHER", title="Not theirs", category="Serums")
    serums = [row("category", "in", ["Serums"])]
    rule(brand, "order-complete", 10, "percentage", basis="matching", all_of=serums, name="10 %")
    rule(brand, "order-complete", 3, "points", per="item", all_of=[row("product", "in", [serum.pk])], name="3 each")
    items = [
        {"sku": "SER", "quantity": 2, "unitPrice": "20.00"},
        {"sku": "OTHER", "quantity": 5, "unitPrice": "2.00"},
        {"sku": "unknown", "quantity": 1, "unitPrice": "50.00"},
    ]

    event = report(brand, customer, "order-complete", order("A", *items, discount="50"))

    assert event.outcome["points_earned"] == 2 + 6
    assert texts_of(LoyaltyTransaction.objects.get().details, "en") == ["10 %: 10 % of 20 = 2", "3 each: 2 x 3 = 6"]


def test_each_profile_field_is_evaluated_separately(brand, customer):
    rule(brand, "log-user-profile-update", 5, "points", name="Any")
    rule(
        brand,
        "log-user-profile-update",
        20,
        "bonus",
        name="Birthday",
        all_of=[row("profile_field", "in", ["birthday"])],
    )

    report(brand, customer, "log-user-profile-update", {"type": "profile", "completedFields": ["phone", "birthday"]})

    assert earned() == [5, 25]


def test_action_without_a_matching_rule_or_campaign_is_rejected(brand, customer):
    rule(brand, "log-user-login", 5, "points", all_of=[row("channel", "in", ["app"])])

    assert report(brand, customer, "log-user-login", {"type": "login"}).outcome["error"] == "NOT_ELIGIBLE"
    assert report(brand, customer, "log-user-login", {"type": "login", "channel": "App"}).outcome["points_earned"] == 5


def test_rules_multiply_the_points_of_a_milestone(brand, customer):
    campaign = factories.campaign(brand, target_value=1)
    factories.milestone(campaign, 1, reward_points=30)
    rule(brand, "milestone", 2, all_of=[row("campaign", "in", [campaign.pk])])

    scan(brand, customer)

    assert earned() == [1, 60]


def test_every_past_rule_set_can_be_loaded_again(brand):
    first = rule(brand)
    second = rule(brand, value=3, state="draft")
    EarningRule.objects.filter(pk=second.pk).update(state="active")
    EarningRule.objects.filter(pk=first.pk).update(priority=5)
    EarningRule.objects.filter(pk=first.pk).update(state_changed_at=timezone.now())  # which changes no points
    first_id = first.pk
    first.delete()

    def values_at(version):
        return sorted(each.rule.value for each in rules.at_version(brand.pk, version).kinds["scan-auth"].every)

    assert [values_at(version) for version in (1, 2, 3)] == [[2], [2, 3], [2, 3]]
    assert values_at(4) == values_at(None) == [3]
    numbers = (
        EarningRuleVersion.objects.filter(rule_id=first_id).order_by("set_version").values_list("number", flat=True)
    )
    assert list(numbers) == [1, 2, 3]


def test_rule_versions_are_append_only(brand):
    rule(brand)

    for statement in ("UPDATE campaigns_earningruleversion SET number = 9", "DELETE FROM campaigns_earningruleversion"):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.as_owner(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_rules_of_another_brand_do_not_apply(brand, customer):
    rule(factories.brand(), value=9)

    assert scan(brand, customer) == 1


def test_budgets_of_two_brands_are_independent(brand, customer):
    other = factories.brand()
    factories.level(other, value=1)
    bonuses = [rule(each, value=10, effect="bonus", limits=[limit("rule", most=15)]) for each in (brand, other)]

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]
    assert [scan(other, factories.customer(other)) for _ in range(2)] == [11, 6]
    assert [EarningRuleBudgetUse.objects.get(rule=each).points for each in bonuses] == [15, 15]


def test_cached_rules_cost_no_extra_statement(brand, customer):
    def statements_of_one_scan():
        record_scan(customer, factories.code(brand))
        with CaptureQueriesContext(connection) as queries:
            worker.drain()
        return len(queries)

    statements_of_one_scan()
    without = statements_of_one_scan()
    for number in range(5):
        rule(brand, value=1, effect="bonus", name=f"Rule {number}", limits=[limit(most=99), limit("rule", most=99)])
    rule(
        brand,
        value=1,
        effect="bonus",
        name="History",
        all_of=[row("nth", "at_least", 1), row("days_since_last", "at_least", 0)],
    )
    statements_of_one_scan()

    assert statements_of_one_scan() == without


def test_unreadable_rule_is_skipped(brand, customer):
    rule(brand, conditions={"all": [row("gone", "in", [1])]})
    rule(brand, value=3)

    assert scan(brand, customer) == 3
    assert len(rules.cached(brand.pk).broken) == 1


def test_constantly_changing_rules_end_in_an_error_instead_of_a_loop(brand, customer, monkeypatch):
    rule(brand)
    monkeypatch.setattr(rules, "load", lambda _brand_id: rules.NO_RULES)

    with pytest.raises(RuntimeError, match="changed each time"):
        snapshot.fetch_one(
            type(
                "Lookup",
                (),
                {
                    "brand_id": brand.pk,
                    "user_id": customer.pk,
                    "campaign_type": "order",
                    "happened_at": timezone.now(),
                    "reason_ids": [],
                    "requested_contexts": [],
                },
            )
        )


def test_order_points_stay_decimal(brand, customer):
    rule(brand, "order-complete", "0.29", "points", name="Cents")

    report(brand, customer, "order-complete", order("A"))

    assert earned() == [Decimal("0.29")]
