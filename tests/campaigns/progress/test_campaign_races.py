"""Many members reach a milestone at once at the last points of a campaign's budget; the guard with its control."""

import time

import pytest

from campaigns.accrual import snapshot, write
from campaigns.earning import budgets
from campaigns.models.campaigns import CampaignBudgetUse, RewardClaim
from campaigns.progress import consistency
from core.consistency import differences
from events import delivery, leases, worker
from loyalty.models.ledger import LoyaltyTransaction
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
def unguarded(monkeypatch, thinking):
    """Nobody waits for a campaign's budget, nor looks at it again."""
    guarded = write.statement_with
    suffices = "s.campaign_id IS NULL OR s.points + t.points_so_far > t.most"

    def statement_with(parts):
        return altered(guarded(parts), (suffices, "false")) if parts.has_budgets else guarded(parts)

    monkeypatch.setattr(write, "statement_with", statement_with)
    monkeypatch.setattr(budgets, "lock_campaigns", lambda _campaigns: None)


def paid():
    return sum(
        LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").values_list("points_earned", flat=True)
    )


def at_the_last_points(brand, *, portion=1, members=6):
    """First scans of as many members, one or several in a portion, at a budget for two and a half."""
    campaign = factories.campaign(brand, budget=25)
    factories.milestone(campaign, 1, reward_points=10)
    for _ in range(members):
        scanned(factories.customer(brand), factories.code(brand))
    portions = [leases.claim(limit=portion) for _ in range(members // portion)]
    at_once(delivery.deliver_events, portions, threads=len(portions))
    worker.drain()
    return campaign


@pytest.mark.usefixtures("thinking")
@pytest.mark.parametrize("portion", [1, 3])
def test_a_campaign_s_budget_is_never_overdrawn_however_many_reach_it_at_once(brand, portion):
    at_the_last_points(brand, portion=portion)

    assert LoyaltyTransaction.objects.exclude(reason_id__startswith="milestone:").count() == 6
    assert paid() == CampaignBudgetUse.objects.get().points == 20
    assert RewardClaim.objects.count() == 2
    assert list(differences(consistency.CHECKS)) == []


@pytest.mark.usefixtures("unguarded")
def test_control_without_the_guard_the_budget_is_overdrawn(brand):
    at_the_last_points(brand)

    assert paid() > 25


@pytest.mark.usefixtures("thinking")
def test_budgets_of_rules_and_campaigns_are_taken_together_without_a_deadlock(brand):
    made = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25)])
    at_the_last_points(brand)

    made.budget_use.refresh_from_db()
    assert made.budget_use.points == 25
    assert paid() == CampaignBudgetUse.objects.get().points == 20
