"""Many accruals at once at the last points of a budget, and at a member's limit; each guard with its control."""

import time

import pytest

from campaigns.accrual import snapshot, write
from campaigns.earning import budgets
from campaigns.models.earning_rules import EarningRuleBudgetUse, EarningRuleUse
from events import delivery, leases, worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import accounts
from loyalty.points.explanations import shares_of
from tests.campaigns.earning.earning_rules import limit, rule, scanned
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made, value=1)
    return made


@pytest.fixture
def thinking(monkeypatch):
    """All think a moment between reading and writing."""
    fetch_many = snapshot.fetch_many

    def read_and_think(lookups):
        found = fetch_many(lookups)
        time.sleep(0.05)
        return found

    monkeypatch.setattr(snapshot, "fetch_many", read_and_think)


@pytest.fixture
def budgets_unguarded(monkeypatch, thinking):
    """Nobody waits for a budget, nor looks at it again."""
    guarded = write.statement_with
    suffices = (
        "b.points + t.points_so_far > t.most_points\n                   OR b.events + t.events_so_far > t.most_events"
    )
    monkeypatch.setattr(write, "statement_with", lambda parts: altered(guarded(parts), (suffices, "false")))
    monkeypatch.setattr(budgets, "lock", lambda _rules: None)


@pytest.fixture
def members_unguarded(monkeypatch, thinking):
    """Nobody waits for an account, nor sees that it has changed."""
    guarded, version = write.statement_with, "AND a.xmin = ANY (ARRAY[i.version::xid])"
    monkeypatch.setattr(write, "statement_with", lambda parts: altered(guarded(parts), (version, "")))
    monkeypatch.setattr(accounts, "lock", lambda **_: None)


def given_by(made):
    """What the ledger says that a rule has given."""
    details = LoyaltyTransaction.objects.values_list("details", flat=True)
    return sum(share.points for each in details for share in shares_of(each) if share.rule_id == made.pk)


def at_the_last_points(brand, *, portion=1, members=6):
    """Scans of as many members, each in a portion of its own or several in one, at a budget for two and a half."""
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25), limit("rule", "events", most=99)])
    for _ in range(members):
        scanned(factories.customer(brand), factories.code(brand))
    portions = [leases.claim(limit=portion) for _ in range(members // portion)]
    at_once(delivery.deliver_events, portions, threads=len(portions))
    worker.drain()
    return made


@pytest.mark.usefixtures("thinking")
@pytest.mark.parametrize("portion", [1, 3])
def test_a_budget_is_never_overdrawn_however_many_accrue_at_once(brand, portion):
    made = at_the_last_points(brand, portion=portion)

    assert LoyaltyTransaction.objects.count() == 6
    assert given_by(made) == EarningRuleBudgetUse.objects.get(rule=made).points == 25


@pytest.mark.usefixtures("budgets_unguarded")
def test_control_without_the_guard_a_budget_is_overdrawn(brand):
    assert given_by(at_the_last_points(brand)) > 25


def one_member_at_once(brand):
    """Six scans of one member, at a limit for two and a half."""
    made = rule(brand, value=10, effect="bonus", limits=[limit(most=25)])
    customer = factories.customer(brand)
    for _ in range(6):
        scanned(customer, factories.code(brand))
    portions = [leases.claim(limit=1) for _ in range(6)]
    at_once(delivery.deliver_events, portions, threads=6)
    worker.drain()
    return made


@pytest.mark.usefixtures("thinking")
def test_a_member_never_gets_more_than_the_limit_however_many_scans_come_at_once(brand):
    made = one_member_at_once(brand)

    assert given_by(made) == EarningRuleUse.objects.get(rule=made).points == 25


@pytest.mark.usefixtures("members_unguarded")
def test_control_without_the_account_s_version_a_member_gets_more(brand):
    assert given_by(one_member_at_once(brand)) > 25
