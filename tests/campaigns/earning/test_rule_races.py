"""Concurrent accruals at the last points of a budget and at a member's limit, each guard with its control."""

import time

import pytest

from campaigns.accrual import snapshot, write
from campaigns.earning import budgets
from campaigns.models.earning_rules import EarningRuleBudgetUse, EarningRuleUse
from events import delivery, leases, worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts
from loyalty.points.explanations import shares_of
from tests.campaigns.earning.earning_rules import limit, record_scan, rule
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand, value=1)
    return new_brand


@pytest.fixture
def slow_reads(monkeypatch):
    """Every worker pauses between reading and writing."""
    fetch_many = snapshot.fetch_many

    def read_and_pause(lookups):
        result = fetch_many(lookups)
        time.sleep(0.05)
        return result

    monkeypatch.setattr(snapshot, "fetch_many", read_and_pause)


@pytest.fixture
def budgets_unguarded(monkeypatch, slow_reads):
    """Budgets are neither locked nor checked again."""
    original_statement_with = write.statement_with
    budget_check = (
        "b.points + t.points_so_far > t.most_points\n                   OR b.events + t.events_so_far > t.most_events"
    )
    monkeypatch.setattr(
        write,
        "statement_with",
        lambda parts: with_replacements(original_statement_with(parts), (budget_check, "false")),
    )
    monkeypatch.setattr(budgets, "lock", lambda _rules: None)


@pytest.fixture
def members_unguarded(monkeypatch, slow_reads):
    """Accounts are neither locked nor checked for changes."""
    original_statement_with, version = write.statement_with, "AND a.xmin = ANY (ARRAY[i.version::xid])"
    monkeypatch.setattr(
        write, "statement_with", lambda parts: with_replacements(original_statement_with(parts), (version, ""))
    )
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


def points_of_rule(new_rule):
    """The points that a rule has given according to the ledger."""
    details = LoyaltyTransaction.objects.values_list("details", flat=True)
    return sum(share.points for each in details for share in shares_of(each) if share.rule_id == new_rule.pk)


def accrue_at_the_end_of_a_budget(brand, *, portion=1, members=6):
    """Deliver a scan of each member, `portion` scans per portion, with a budget for two and a half of them."""
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25), limit("rule", "events", most=99)])
    for _ in range(members):
        record_scan(factories.customer(brand), factories.code(brand))
    portions = [leases.claim(limit=portion) for _ in range(members // portion)]
    run_concurrently(delivery.deliver_events, portions, threads=len(portions))
    worker.drain()
    return new_rule


@pytest.mark.usefixtures("slow_reads")
@pytest.mark.parametrize("portion", [1, 3])
def test_concurrent_accruals_never_overdraw_a_budget(brand, portion):
    new_rule = accrue_at_the_end_of_a_budget(brand, portion=portion)

    assert LoyaltyTransaction.objects.count() == 6
    assert points_of_rule(new_rule) == EarningRuleBudgetUse.objects.get(rule=new_rule).points == 25


@pytest.mark.usefixtures("budgets_unguarded")
def test_control_budget_is_overdrawn_without_the_guard(brand):
    assert points_of_rule(accrue_at_the_end_of_a_budget(brand)) > 25


def accrue_concurrently_for_one_member(brand):
    """Deliver six scans of one member concurrently, with a limit for two and a half of them."""
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit(most=25)])
    customer = factories.customer(brand)
    for _ in range(6):
        record_scan(customer, factories.code(brand))
    portions = [leases.claim(limit=1) for _ in range(6)]
    run_concurrently(delivery.deliver_events, portions, threads=6)
    worker.drain()
    return new_rule


@pytest.mark.usefixtures("slow_reads")
def test_concurrent_scans_never_exceed_a_member_limit(brand):
    new_rule = accrue_concurrently_for_one_member(brand)

    assert points_of_rule(new_rule) == EarningRuleUse.objects.get(rule=new_rule).points == 25


@pytest.mark.usefixtures("members_unguarded")
def test_control_member_limit_is_exceeded_without_the_account_version(brand):
    assert points_of_rule(accrue_concurrently_for_one_member(brand)) > 25
