"""A brand is exported to a file, compared and applied, and other brands are not changed."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from threading import Barrier

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import transaction

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, Milestone, RewardClaim
from campaigns.models.earning_rules import EarningRule
from config.brand_files import applying, reading, writing
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationSettings, NotificationTemplate
from loyalty.models.orders import CurrencyRate
from loyalty.models.rewards import Reward
from loyalty.models.webhooks import WebhookEndpoint
from tests.config.brand_files.conftest import REASON, SMALL, apply, rows
from tests.support import concurrency, factories

pytestmark = pytest.mark.django_db(transaction=True)  # an export begins its own transaction


@pytest.fixture
def brand(db):
    return factories.brand()


@pytest.fixture
def full_brand(db):
    """A brand with one of everything that a file can contain."""
    brand = factories.brand(colour_accent="#9c2c5c", points_expire="days", points_expire_after=30)
    gold = factories.level(brand, "Gold", "100.50", value="12.25")
    factories.level(brand, "100", 0)
    golden = factories.segment(brand, ("level", "in", ["Gold"]), name="Golden")
    CurrencyRate.objects.create(brand=brand, currency="USD", rate=Decimal("0.91"))
    factories.event_kind(brand, store=["Zug", "Bern"], minutes="whole")
    EarningRule.objects.create(brand=brand, kind="order-complete", reward_type="percentage", reward_value=5)
    EarningRule.objects.create(brand=brand, kind="store-visit", reward_value=5, state="draft")
    five = Campaign.objects.create(
        brand=brand, campaign_name="Fünf: “fresh” # scans", target_value=5, ends_at=datetime(2030, 1, 2, 3, tzinfo=UTC)
    )
    for threshold in (5, 2):
        Milestone.objects.create(campaign=five, threshold=threshold, reward_name=f"Gift {threshold}", reward_points=3)
    Reward.objects.create(
        brand=brand,
        name="Mug",
        description="Blue\nor red",
        cost=50,
        stock=7,
        minimum_level=gold,
        segment=golden,
        is_active=False,
    )
    NotificationSettings.objects.create(brand=brand, language="de", merge_seconds=5)
    NotificationTemplate.objects.create(
        brand=brand,
        template="NOTIFY_CAMPAIGN_SUCCESS",
        channel="email",
        language="en",
        subject="yes",
        body="Hello {customer_name},\n\n{points_earned} points.",
    )
    WebhookEndpoint.objects.create(
        brand=brand, url="https://hooks.example.com/a", types=["points.earned", "code.scanned"], secret="s" * 40
    )
    return brand


def export(brand):
    out = io.StringIO()
    call_command("brand_export", brand.slug, stdout=out)
    return out.getvalue()


def without_header(text):
    return text.partition("format: 1")[2]


def verbs(steps):
    return [(step.verb, step.what) for step in steps]


def test_export_applied_to_another_brand_makes_it_equal(full_brand):
    exported = export(full_brand)
    other = factories.brand()

    apply(other, exported)

    assert without_header(export(other)) == without_header(exported)
    assert other.campaigns.get().milestones.count() == 2
    assert WebhookEndpoint.objects.get(brand=other).secret != "s" * 40


def test_export_is_stable_and_has_no_secrets_or_ids(full_brand):
    exported = export(full_brand)

    assert export(full_brand) == exported
    assert "s" * 40 not in exported
    assert full_brand.hostnames.get().hostname not in exported
    assert "id:" not in exported


def test_export_with_two_rows_of_the_same_name_is_rejected(full_brand):
    Reward.objects.create(brand=full_brand, name="Mug", cost=1)

    with pytest.raises(CommandError, match="rewards: The brand has two called “Mug”"):
        export(full_brand)


def test_applying_a_file_again_changes_nothing(full_brand):
    other = factories.brand()
    assert apply(other, export(full_brand))

    before, entries = rows(other), AuditLogEntry.objects.count()
    assert apply(other, export(full_brand)) == []

    assert (rows(other), AuditLogEntry.objects.count()) == (before, entries)


def test_applying_its_own_export_changes_nothing(full_brand):
    assert apply(full_brand, export(full_brand)) == []


def test_plan_equals_the_steps_of_applying_and_changes_nothing(full_brand):
    other = factories.brand()
    file = reading.read(export(full_brand).encode())

    before, entries = rows(other), AuditLogEntry.objects.count()
    planned = applying.plan(other, file)

    assert (rows(other), AuditLogEntry.objects.count()) == (before, entries)
    assert planned == applying.apply(other, file, reason=REASON)


def test_step_of_a_change_names_the_field_and_both_values(full_brand):
    [step, unchanged] = apply(full_brand, "format: 1\nlevels:\n  - name: Gold\n    threshold: 99\n")

    assert str(step) == "change     levels “Gold”\n    threshold: 100.50 -> 99"
    assert str(unchanged) == "left alone levels “100”"
    assert BrandLevel.objects.get(brand=full_brand, name="Gold").scan_reward_value == Decimal("12.25")


def test_other_brands_are_not_changed(full_brand):
    other = factories.brand()
    before = rows(other), rows(full_brand)

    apply(other, export(full_brand).replace("Mug", "Cup").replace("12.25", "13"), prune=True)

    assert rows(full_brand)[2:] == before[1][2:]
    assert rows(other) != before[0]


def test_every_change_is_in_the_audit_log(full_brand):
    other = factories.brand()

    apply(other, export(full_brand))
    apply(other, "format: 1\nrewards:\n  - {name: Mug, cost: 60}\n")

    entries = AuditLogEntry.objects.filter(brand=other).order_by("id")
    assert {entry.kind for entry in entries} == {
        "brands.brand",
        "campaigns.campaign",
        "campaigns.earningrule",
        "campaigns.eventkind",
        "campaigns.eventkindfield",
        "campaigns.milestone",
        "loyalty.brandlevel",
        "loyalty.currencyrate",
        "loyalty.notificationsettings",
        "loyalty.notificationtemplate",
        "loyalty.reward",
        "loyalty.segment",
        "loyalty.webhookendpoint",
    }
    assert {(entry.actor, entry.reason) for entry in entries} == {(None, REASON)}
    assert entries.last().changes == {"cost": ["50.00", "60"]}


# --- Missing from the file -------------------------------------------------------------------------------------------


def test_rows_missing_from_the_file_are_left_alone(full_brand):
    before = rows(full_brand)

    steps = apply(full_brand, "format: 1\ncampaigns: []\nlevels: []\n")

    assert {step.verb for step in steps} == {"left alone"}
    assert rows(full_brand) == before


def test_pruning_deletes_or_switches_off_rows_that_are_not_in_use(full_brand):
    Reward.objects.update(is_active=True)
    empty = ["levels", "currency_rates", "event_kinds", "earning_rules", "campaigns", "rewards", "webhooks"]
    lines = "".join(f"{name}: []\n" for name in empty)

    steps = apply(full_brand, f"format: 1\n{lines}notifications: {{templates: []}}\n", prune=True)

    assert sorted(verbs(steps)) == [
        ("delete", "currency_rates “USD”"),
        ("delete", "levels “100”"),
        ("delete", "notifications.templates “NOTIFY_CAMPAIGN_SUCCESS, email, en”"),
        ("in use", "levels “Gold”"),
        ("switch off", "campaigns “Fünf: “fresh” # scans”"),
        ("switch off", "earning_rules “Order completed”"),
        ("switch off", "earning_rules “Store visit”"),
        ("switch off", "event_kinds “store-visit”"),
        ("switch off", "rewards “Mug”"),
        ("switch off", "webhooks “https://hooks.example.com/a”"),
    ]
    assert not Campaign.objects.get(brand=full_brand).is_active
    assert WebhookEndpoint.objects.get(brand=full_brand).state == "disabled"
    assert [level.name for level in BrandLevel.objects.filter(brand=full_brand)] == ["Gold"]


def test_section_missing_from_the_file_is_not_pruned(full_brand):
    before = rows(full_brand)

    assert apply(full_brand, "format: 1\n", prune=True) == []

    assert rows(full_brand) == before


def test_level_of_a_member_is_in_use_and_not_pruned(full_brand):
    member = factories.account(factories.customer(full_brand), full_brand)
    type(member).objects.filter(pk=member.pk).update(current_level="100")

    assert ("in use", "levels “100”") in verbs(apply(full_brand, "format: 1\nlevels: []\n", prune=True))


@pytest.mark.parametrize("is_claimed", [True, False])
def test_milestone_is_pruned_unless_its_reward_was_claimed(full_brand, is_claimed):
    campaign = Campaign.objects.get(brand=full_brand)
    if is_claimed:
        RewardClaim.objects.create(milestone=campaign.milestones.first(), user=factories.customer(full_brand))
    file = f"format: 1\ncampaigns:\n  - campaign_name: '{campaign}'\n    milestones: [{{threshold: 5}}]\n"

    apply(full_brand, file, prune=True)

    assert campaign.milestones.count() == 1 + is_claimed


def test_file_can_switch_a_webhook_on_again(full_brand):
    WebhookEndpoint.objects.update(state="gone")

    apply(full_brand, "format: 1\nwebhooks:\n  - {url: 'https://hooks.example.com/a', is_active: true}\n")

    assert WebhookEndpoint.objects.get().state == "active"


def test_rule_whose_state_a_file_changes_pays_nothing_for_earlier_days(full_brand):
    """Rules for welcomes and birthdays would pay the days before their last change of state afterwards."""
    rule = EarningRule.objects.get(brand=full_brand, kind="order-complete")
    created_at = rule.state_changed_at
    apply(full_brand, "format: 1\nearning_rules: []\n", prune=True)
    rule.refresh_from_db()
    assert (rule.state, rule.state_changed_at > created_at) == ("paused", True)
    paused_at = rule.state_changed_at

    apply(full_brand, "format: 1\nearning_rules:\n  - {kind: order-complete, state: active}\n")

    rule.refresh_from_db()
    assert (rule.state, rule.state_changed_at > paused_at) == ("active", True)


def test_file_does_not_change_the_stock_of_an_existing_reward(full_brand):
    assert apply(full_brand, "format: 1\nrewards:\n  - {name: Mug, stock: 1000}\n") == []

    assert Reward.objects.get(brand=full_brand).stock == 7


# --- Concurrency -----------------------------------------------------------------------------------------------------


def apply_concurrently(brand, number):
    return concurrency.run_concurrently(lambda content: apply(brand, content), [SMALL] * number, threads=number)


def test_concurrent_applications_create_each_row_once(brand):
    outcomes = apply_concurrently(brand, 8)

    assert sorted(len(steps) for steps in outcomes) == [0] * 7 + [1]
    assert Campaign.objects.filter(brand=brand).count() == 1


def test_control_without_the_lock_concurrent_applications_create_a_row_twice(brand, monkeypatch):
    both = Barrier(2)

    def no_lock(brand):
        both.wait(10)
        return Brand.objects.get(pk=brand.pk)

    monkeypatch.setattr(applying, "lock", no_lock)

    apply_concurrently(brand, 2)

    assert Campaign.objects.filter(brand=brand).count() == 2


def rename_between_sections(monkeypatch, brand):
    """Another user renames the level Gold after its section was exported, and before those that refer to it."""
    exported = writing._exported

    def export_section(section, *arguments):
        result = exported(section, *arguments)
        if section.path == "levels":
            rename = BrandLevel.objects.filter(brand=brand, name="Gold").update
            assert concurrency.run_concurrently(lambda name: rename(name=name), ["Platinum"]) == [1]
        return result

    monkeypatch.setattr(writing, "_exported", export_section)


def levels_and_requirement(brand):
    data = yaml.safe_load(export(brand))
    return {level["name"] for level in data["levels"]}, data["rewards"][0]["minimum_level"]


def test_change_during_an_export_is_not_in_the_file(full_brand, monkeypatch):
    rename_between_sections(monkeypatch, full_brand)

    assert levels_and_requirement(full_brand) == ({"Gold", "100"}, "Gold")
    assert BrandLevel.objects.filter(brand=full_brand, name="Platinum").exists()


def test_control_without_the_snapshot_the_file_mixes_two_states(full_brand, monkeypatch):
    rename_between_sections(monkeypatch, full_brand)
    monkeypatch.setattr(writing, "one_snapshot", transaction.atomic)

    assert levels_and_requirement(full_brand) == ({"Gold", "100"}, "Platinum")
