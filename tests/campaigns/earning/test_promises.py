"""A scan earns the points that it promised by the rules of the brand."""

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
    """A brand whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


def scan_and_accrue(brand, customer, code=None):
    """Scan a code; return the points promised, the points earned and the number of statements of the scan."""
    code = code or factories.code(brand)
    context = ScanContext(at=timezone.now(), user_id=customer and customer.pk, brand_id=brand.pk)
    with CaptureQueriesContext(connection) as captured:
        result = scanning.scan(scanned=code.code, context=context)
    before = sum(earned())
    worker.drain()
    return result.points, sum(earned()) - before, len(captured)


def test_scan_promises_the_points_that_its_rules_give(brand, customer):
    _promised, _earned, base_statements = scan_and_accrue(brand, customer)
    rule(brand, "order-complete", value=5)
    scan_and_accrue(brand, customer)  # reads the rules, which this process does not know yet
    assert scan_and_accrue(brand, customer) == (1, 1, base_statements), "rules for orders cost scans nothing"

    doubled = rule(brand, all_of=[row("level", "in", [brand.levels.get().name])])
    rule(brand, value=3, effect="bonus", limits=[limit(most=4)])
    assert scan_and_accrue(brand, customer)[:2] == (5, 5)
    assert scan_and_accrue(brand, customer)[:2] == (3, 3), "the limit leaves one"
    assert scan_and_accrue(brand, customer) == (2, 2, base_statements), (
        "the scan's own statement reads level and limits"
    )

    EarningRule.objects.filter(pk=doubled.pk).update(reward_value=4)
    assert scan_and_accrue(brand, customer)[:2] == (4, 4), "the next scan uses the change"


@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        (row("nth", "at_least", 2), []),
        (row("days_since_last", "at_most", 3), []),
        (row("level", "in", ["Bronze"]), [limit("rule", most=1)]),
    ],
    ids=["how-often", "since-when", "budget"],
)
def test_promise_reads_history_and_budgets_only_if_a_rule_needs_them(brand, customer, condition, limits):
    brand.levels.update(name="Bronze")
    _promised, _earned, base_statements = scan_and_accrue(brand, customer)
    rule(brand, all_of=[row("level", "in", ["Gold"])])
    scan_and_accrue(brand, customer)  # reads the rules, which this process does not know yet
    assert scan_and_accrue(brand, customer) == (1, 1, base_statements)
    rule(brand, all_of=[condition], limits=limits, name="Asks")
    scan_and_accrue(brand, customer)

    promised, earned_points, statements = scan_and_accrue(brand, customer)

    assert promised == earned_points == (1 if limits else 2)
    assert statements == base_statements + 1


def test_rule_about_the_product_costs_no_extra_statement(brand, customer):
    _promised, _earned, base_statements = scan_and_accrue(brand, customer)
    serum = factories.product(brand, category="Serums")
    rule(brand, value=5, all_of=[row("category", "in", ["Serums"])])
    scan_and_accrue(brand, customer)  # reads the rules, which this process does not know yet

    assert scan_and_accrue(brand, customer, factories.code(brand, product=serum)) == (5, 5, base_statements)


@pytest.mark.parametrize("moved", [timedelta(days=-1), timedelta(0)], ids=["yesterday", "today"])
def test_promise_respects_the_period_of_a_limit(brand, customer, moved):
    rule(brand, value=4, limits=[limit(period="day", most=2)])
    assert scan_and_accrue(brand, customer)[:2] == (3, 3)
    EarningRuleUse.objects.update(started=F("started") + moved)

    expected = 3 if moved else 1
    promised, earned_points, _statements = scan_and_accrue(brand, customer)

    assert promised == earned_points == expected


def test_guest_scan_promises_the_points_of_the_code(brand):
    rule(brand)

    assert scan_and_accrue(brand, None)[:2] == (1, 0)


def test_scan_cut_by_the_daily_limit_earns_its_points_when_repeated(brand, customer):
    rule(brand)
    brand.daily_point_limit = 1
    brand.save()
    code = factories.code(brand)
    assert scan_and_accrue(brand, customer, factories.code(brand))[1] == 1
    assert scan_and_accrue(brand, customer, code)[1] == 0
    brand.daily_point_limit = None
    brand.save()

    assert scan_and_accrue(brand, customer, code)[:2] == (2, 2)
