"""What a scan promises by a brand's rules is what it earns."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from campaigns.models.earning_rules import EarningRule, EarningRuleUse
from events import worker
from tests.campaigns.earning.earning_rules import earned, limit, row, rule
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """Whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def promise(brand, customer, code=None):
    """What a scan's answer promises and what its accrual earns; and how many statements the scan ran."""
    code = code or factories.code(brand)
    context = ScanContext(at=timezone.now(), user_id=customer and customer.pk, brand_id=brand.pk)
    with CaptureQueriesContext(connection) as captured:
        result = scanning.scan(scanned=code.code, context=context)
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
