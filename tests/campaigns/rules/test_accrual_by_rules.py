"""Actions that earn by a brand's rules: from the event to the ledger, with limits, versions and reasons."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.staff_login.models import StaffMail
from campaigns.accrual import snapshot
from campaigns.earning import budgets, rules
from campaigns.models.earning_rules import EarningRule, EarningRuleBudget, EarningRuleUse, EarningRuleVersion
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.explanations import shares_of, texts_of
from tests.campaigns.accrual.test_handlers import report
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """Whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def scanned(customer, code):
    """A scan that waits for its points."""
    about = ScanContext(at=timezone.now(), user_id=customer.pk, brand_id=code.brand_id)
    scanning.scan(scanned=code.code, about=about)


def row(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


def rule(brand, kind="scan-auth", value=2, effect="multiplier", *, all_of=(), **fields):
    usual = {"name": f"{effect} {value}", "without_end": True, "conditions": {"all": list(all_of)} if all_of else {}}
    return factories.earning_rule(brand, kind, value, effect, **{**usual, **fields})


def limit(per="member", what="points", period="ever", most=5, **more):
    return {"per": per, "what": what, "period": period, "most": most, **more}


def scan(brand, customer, **product):
    """What the customer's scan of a new code earned."""
    fields = {"sku": f"S{timezone.now().timestamp()}", "title": "Serum", **product}
    made = factories.product(brand, **fields)
    code = factories.code(brand, product=made)
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    return report(brand, customer, "scan-auth", payload).outcome["points_earned"]


def order(number, *items, subtotal=100, **fields):
    return {"type": "order", "order": {"orderId": number, "subtotal": str(subtotal), "items": list(items), **fields}}


def earned():
    return list(LoyaltyTransaction.objects.order_by("pk").values_list("points_earned", flat=True))


def test_without_rules_a_scan_earns_as_ever_and_says_why(brand, customer):
    brand.levels.update(scan_reward_value=7)

    assert scan(brand, customer) == 7
    line = LoyaltyTransaction.objects.get()
    assert line.details["rules"] == 0
    assert texts_of(line.details, "en") == [f"{brand.levels.get().name}: 7"]


def test_a_rule_with_conditions_counts_for_what_fulfils_them(brand, customer):
    rule(brand, all_of=[row("category", "in", ["Serums"]), row("tags", "in", ["new"])])

    assert scan(brand, customer, category="Serums", tags=["New"]) == 2
    assert scan(brand, customer, category="Serums") == 1
    assert scan(brand, customer, category="Soaps", tags=["new"]) == 1


def test_each_line_keeps_which_rules_gave_what(brand, customer):
    brand.levels.update(name="Gold", scan_reward_type="percentage", scan_reward_value=5)
    double = rule(brand, name="Double December", translations={"de": {"name": "Doppelter Dezember"}})
    rule(brand, value=3, effect="bonus", name="Hello", limits=[limit(most=1)])

    assert scan(brand, customer, retail_price="49.90") == 5
    line = LoyaltyTransaction.objects.get()
    assert texts_of(line.details, "en") == [
        "Gold: 5 % of 49.90 = 2",
        "Double December: 2 x 2, that is 2 more",
        "Hello: 1 (at most 1 in all)",
    ]
    assert texts_of(line.details, "de")[1].startswith("Doppelter Dezember: ")
    assert [(each.rule_id, each.version) for each in shares_of(line.details)][1] == (double.pk, 1)
    assert line.details["rules"] == 2


def test_a_rule_without_a_name_and_its_numbers_are_in_the_reader_s_language(brand, customer):
    rule(brand, "scan-auth", 5, "percentage", name="")

    scan(brand, customer, retail_price="228.99")

    details = LoyaltyTransaction.objects.get().details
    with translation.override("de"):
        assert any(each.startswith("Produkt gescannt: 5 % von 228,99 = ") for each in texts_of(details, "de"))


def test_what_a_rule_does_is_seen_by_the_very_next_action(brand, customer):
    assert scan(brand, customer) == 1
    made = rule(brand)
    assert scan(brand, customer) == 2
    EarningRule.objects.filter(pk=made.pk).update(reward_value=3)
    assert scan(brand, customer) == 3
    made.is_active = False
    made.save()
    assert scan(brand, customer) == 1
    made.delete()
    assert scan(brand, customer) == 1


def test_a_rule_counts_by_when_the_action_happened(brand, customer):
    now = timezone.now()
    rule(brand, starts_at=now - timedelta(hours=2), ends_at=now - timedelta(hours=1))
    code = factories.code(brand)

    assert scan(brand, customer) == 1
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    assert report(brand, customer, "scan-auth", payload, at=now - timedelta(minutes=90)).outcome["points_earned"] == 2


@pytest.mark.parametrize("state", ["draft", "paused", "ended"])
def test_what_is_not_active_counts_for_nothing(brand, customer, state):
    rule(brand, state=state)

    assert scan(brand, customer) == 1


def test_the_first_order_and_every_third_scan(brand, customer):
    rule(brand, "order-complete", 50, "points", name="First", all_of=[row("nth", "is", 1)])
    rule(brand, "order-complete", 1, "points", name="Each")
    rule(brand, value=10, all_of=[row("nth", "every", 3)])

    for number in range(3):
        report(brand, customer, "order-complete", order(f"A-{number}"))
    assert [scan(brand, customer) for _ in range(4)] == [1, 1, 10, 1]
    assert earned()[:3] == [51, 1, 1]


def test_who_comes_back_after_days(brand, customer):
    rule(brand, value=5, all_of=[row("days_since_last", "at_least", 30)])
    assert scan(brand, customer) == 1
    factories.points(factories.customer(brand), brand, 5, at=timezone.now() - timedelta(days=31))
    back = factories.customer(brand)
    factories.points(back, brand, 5, reason_id="order:old", at=timezone.now() - timedelta(days=31))

    assert scan(brand, back) == 5


def test_an_order_s_items_are_what_the_catalogue_says(brand, customer):
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


def test_each_field_of_a_profile_has_its_own_facts(brand, customer):
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


def test_what_no_rule_is_for_is_refused_where_no_campaign_counts_it(brand, customer):
    rule(brand, "log-user-login", 5, "points", all_of=[row("channel", "in", ["app"])])

    assert report(brand, customer, "log-user-login", {"type": "login"}).outcome["error"] == "NOT_ELIGIBLE"
    assert report(brand, customer, "log-user-login", {"type": "login", "channel": "App"}).outcome["points_earned"] == 5


def test_a_milestone_s_points_are_multiplied_by_its_rules(brand, customer):
    campaign = factories.campaign(brand, target_value=1)
    factories.milestone(campaign, 1, reward_points=30)
    rule(brand, "milestone", 2, all_of=[row("campaign", "in", [campaign.pk])])

    scan(brand, customer)

    assert earned() == [1, 60]


def test_a_member_s_limit_lasts_for_its_period(brand, customer):
    rule(
        brand,
        value=10,
        effect="bonus",
        limits=[limit(period="day", most=15), limit(what="events", period="month", most=3)],
    )

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]
    EarningRuleUse.objects.filter(period="day").update(started=timezone.now().date() - timedelta(days=3))
    assert [scan(brand, customer) for _ in range(2)] == [11, 1]
    assert scan(brand, factories.customer(brand)) == 11


def test_a_rule_out_of_budget_gives_the_rest_and_then_nothing(brand, customer):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25)])

    assert [scan(brand, customer) for _ in range(4)] == [11, 11, 6, 1]
    budget = EarningRuleBudget.objects.get(rule=made)
    assert (budget.points, budget.events) == (25, 3)
    assert budget.used_up_at
    assert texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1] == (
        "bonus 10: 0 (all that there was to give has been given)"
    )


def test_owners_hear_once_that_a_budget_is_used_up(brand, customer):
    owner = staff(brand, role="owner", email="olivia@example.com")
    made = rule(brand, value=10, effect="bonus", name="Ten", limits=[limit("rule", most=5)])
    scan(brand, customer)

    told = [budgets.notify_used_up(at=timezone.now()) for _ in range(2)]

    assert told == [1, 0]
    [mail] = StaffMail.objects.filter(user=owner, kind="budget")
    assert "“Ten” has given 5 points, 1 times" in mail.text
    EarningRule.objects.filter(pk=made.pk).update(limits=[limit("rule", most=50)])
    assert EarningRuleBudget.objects.get(rule=made).used_up_at is None
    assert scan(brand, customer) == 11


def test_money_is_counted_in_points_at_their_cost(brand, customer):
    rule(brand, value=10, effect="bonus", limits=[limit("rule", "money", most="0.15", point_cost="0.01")])

    assert [scan(brand, customer) for _ in range(3)] == [11, 6, 1]


def test_many_scans_in_one_statement_keep_to_the_budget(brand):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=35), limit("rule", "events", most=9)])
    customers = [factories.customer(brand) for _ in range(5)]
    for customer in customers:
        scanned(customer, factories.code(brand))
    worker.drain()

    assert sorted(earned()) == [1, 6, 11, 11, 11]
    assert EarningRuleBudget.objects.get(rule=made).points == 35


def test_the_brand_s_own_limit_takes_back_what_rules_gave_too_much(brand, customer):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=100), limit(most=100)])
    brand.daily_point_limit = 15
    brand.save()

    assert [scan(brand, customer) for _ in range(2)] == [11, 4]
    assert EarningRuleBudget.objects.get(rule=made).points == 13
    assert EarningRuleUse.objects.get(rule=made).points == 13
    assert "daily limit" in texts_of(LoyaltyTransaction.objects.latest("pk").details, "en")[1]


def test_every_version_that_was_in_force_is_kept_and_can_be_decided_by_again(brand):
    first = rule(brand)
    second = rule(brand, value=3, state="draft")
    EarningRule.objects.filter(pk=second.pk).update(state="active")
    EarningRule.objects.filter(pk=first.pk).update(priority=5)
    EarningRule.objects.filter(pk=first.pk).update(state_changed_at=timezone.now())  # which earns nothing
    number = first.pk
    first.delete()

    def at(version):
        return sorted(each.rule.value for each in rules.at_version(brand.pk, version).kinds["scan-auth"].every)

    assert [at(version) for version in (1, 2, 3)] == [[2], [2, 3], [2, 3]]
    assert at(4) == at(None) == [3]
    numbers = EarningRuleVersion.objects.filter(rule_id=number).order_by("set_version").values_list("number", flat=True)
    assert list(numbers) == [1, 2, 3]


def test_versions_are_never_changed(brand):
    rule(brand)

    for statement in ("UPDATE campaigns_earningruleversion SET number = 9", "DELETE FROM campaigns_earningruleversion"):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.as_owner(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_another_brand_s_rules_and_budgets_are_its_own(brand, customer):
    rule(factories.brand(), value=9)

    assert scan(brand, customer) == 1


def test_rules_cost_no_statement_once_a_process_knows_them(brand, customer):
    def of_one_scan():
        scanned(customer, factories.code(brand))
        with CaptureQueriesContext(connection) as found:
            worker.drain()
        return len(found)

    of_one_scan()
    without = of_one_scan()
    for number in range(5):
        rule(brand, value=1, effect="bonus", name=f"Rule {number}", limits=[limit(most=99), limit("rule", most=99)])
    rule(
        brand,
        value=1,
        effect="bonus",
        name="History",
        all_of=[row("nth", "at_least", 1), row("days_since_last", "at_least", 0)],
    )
    of_one_scan()

    assert of_one_scan() == without


def test_a_rule_that_can_no_longer_be_read_is_left_out(brand, customer):
    rule(brand, conditions={"all": [row("gone", "in", [1])]})
    rule(brand, value=3)

    assert scan(brand, customer) == 3
    assert len(rules.cached(brand.pk).broken) == 1


def test_rules_that_change_all_the_time_do_not_hang_an_accrual(brand, customer, monkeypatch):
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


def test_what_orders_are_worth_is_decimal_to_the_end(brand, customer):
    rule(brand, "order-complete", "0.29", "points", name="Cents")

    report(brand, customer, "order-complete", order("A"))

    assert earned() == [Decimal("0.29")]


def promise(brand, customer, code=None):
    """What a scan's answer promises and what its accrual earns; and how many statements the scan ran."""
    code = code or factories.code(brand)
    about = ScanContext(at=timezone.now(), user_id=customer and customer.pk, brand_id=brand.pk)
    with CaptureQueriesContext(connection) as captured:
        result = scanning.scan(scanned=code.code, about=about)
    before = sum(earned())
    worker.drain()
    return result.points, sum(earned()) - before, len(captured)


def test_a_scan_promises_what_the_rules_give_and_earns_it(brand, customer):
    _promised, _earned, usual = promise(brand, customer)
    rule(brand, "order-complete", value=5)
    promise(brand, customer)  # reads the rules, which this process does not know yet
    assert promise(brand, customer) == (1, 1, usual), "rules for orders cost scans nothing"

    doubled = rule(brand, all_of=[row("level", "in", [brand.levels.get().name])])
    rule(brand, value=3, effect="bonus", limits=[limit(most=4)])
    assert promise(brand, customer)[:2] == (5, 5)
    assert promise(brand, customer)[:2] == (3, 3), "the limit leaves one"
    assert promise(brand, customer) == (2, 2, usual), "the scan's own statement reads level and limits"

    EarningRule.objects.filter(pk=doubled.pk).update(reward_value=4)
    assert promise(brand, customer)[:2] == (4, 4), "the very next scan knows"


@pytest.mark.parametrize(
    ("asks", "limits"),
    [
        (row("nth", "at_least", 2), []),
        (row("days_since_last", "at_most", 3), []),
        (row("level", "in", ["Bronze"]), [limit("rule", most=1)]),
    ],
    ids=["how-often", "since-when", "budget"],
)
def test_a_promise_reads_the_members_past_and_budgets_only_where_a_rule_asks(brand, customer, asks, limits):
    brand.levels.update(name="Bronze")
    _promised, _earned, usual = promise(brand, customer)
    rule(brand, all_of=[row("level", "in", ["Gold"])])
    promise(brand, customer)  # reads the rules, which this process does not know yet
    assert promise(brand, customer) == (1, 1, usual)
    rule(brand, all_of=[asks], limits=limits, name="Asks")
    promise(brand, customer)

    promised, earned_points, statements = promise(brand, customer)

    assert promised == earned_points == (1 if limits else 2)
    assert statements == usual + 1


def test_a_rule_about_the_product_costs_a_promise_no_statement(brand, customer):
    _promised, _earned, usual = promise(brand, customer)
    serum = factories.product(brand, category="Serums")
    rule(brand, value=5, all_of=[row("category", "in", ["Serums"])])
    promise(brand, customer)  # reads the rules, which this process does not know yet

    assert promise(brand, customer, factories.code(brand, product=serum)) == (5, 5, usual)


@pytest.mark.parametrize("moved", [timedelta(days=-1), timedelta(0)], ids=["yesterday", "today"])
def test_a_promise_knows_when_the_period_of_a_limit_began(brand, customer, moved):
    rule(brand, value=4, limits=[limit(period="day", most=2)])
    assert promise(brand, customer)[:2] == (3, 3)
    EarningRuleUse.objects.update(started=F("started") + moved)

    expected = 3 if moved else 1
    promised, earned_points, _statements = promise(brand, customer)

    assert promised == earned_points == expected


def test_a_guest_is_told_the_codes_own_points(brand):
    rule(brand)

    assert promise(brand, None)[:2] == (1, 0)


def test_a_scan_that_a_limit_held_back_is_asked_for_again_with_what_the_rules_give(brand, customer):
    rule(brand)
    brand.daily_point_limit = 1
    brand.save()
    code = factories.code(brand)
    assert promise(brand, customer, factories.code(brand))[1] == 1
    assert promise(brand, customer, code)[1] == 0
    brand.daily_point_limit = None
    brand.save()

    assert promise(brand, customer, code)[:2] == (2, 2)
