"""Members reach a milestone concurrently at the last points of a campaign's budget; the guard with its control."""

import time

import pytest

from campaigns.accrual import snapshot, write
from campaigns.earning import budgets
from campaigns.models.campaigns import CampaignBudgetUse, RewardClaim
from campaigns.progress import consistency
from core.consistency import differences
from events import delivery, leases, worker
from loyalty.models.ledger import LoyaltyTransaction
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
def unguarded(monkeypatch, slow_reads):
    """Budgets of campaigns are neither locked nor checked again."""
    original_statement_with = write.statement_with
    budget_check = "s.campaign_id IS NULL OR s.points + t.points_so_far > t.most"

    def statement_with(parts):
        return (
            with_replacements(original_statement_with(parts), (budget_check, "false"))
            if parts.has_budgets
            else original_statement_with(parts)
        )

    monkeypatch.setattr(write, "statement_with", statement_with)
    monkeypatch.setattr(budgets, "lock_campaigns", lambda _campaigns: None)


def milestone_points_paid():
    return sum(
        LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:").values_list("points_earned", flat=True)
    )


def accrue_at_the_end_of_a_budget(brand, *, portion=1, members=6):
    """Deliver the first scan of each member, `portion` scans per portion, with a budget for two and a half of them."""
    campaign = factories.campaign(brand, budget=25)
    factories.milestone(campaign, 1, reward_points=10)
    for _ in range(members):
        record_scan(factories.customer(brand), factories.code(brand))
    portions = [leases.claim(limit=portion) for _ in range(members // portion)]
    run_concurrently(delivery.deliver_events, portions, threads=len(portions))
    worker.drain()
    return campaign


@pytest.mark.usefixtures("slow_reads")
@pytest.mark.parametrize("portion", [1, 3])
def test_concurrent_members_never_overdraw_a_campaign_budget(brand, portion):
    accrue_at_the_end_of_a_budget(brand, portion=portion)

    assert LoyaltyTransaction.objects.exclude(reason_id__startswith="milestone:").count() == 6
    assert milestone_points_paid() == CampaignBudgetUse.objects.get().points == 20
    assert RewardClaim.objects.count() == 2
    assert list(differences(consistency.CHECKS)) == []


@pytest.mark.usefixtures("unguarded")
def test_control_campaign_budget_is_overdrawn_without_the_guard(brand):
    accrue_at_the_end_of_a_budget(brand)

    assert milestone_points_paid() > 25


@pytest.mark.usefixtures("slow_reads")
def test_budgets_of_rules_and_campaigns_are_used_without_a_deadlock(brand):
    new_rule = rule(brand, value=10, effect="bonus", limits=[limit("rule", most=25)])
    accrue_at_the_end_of_a_budget(brand)

    new_rule.budget_use.refresh_from_db()
    assert new_rule.budget_use.points == 25
    assert milestone_points_paid() == CampaignBudgetUse.objects.get().points == 20
