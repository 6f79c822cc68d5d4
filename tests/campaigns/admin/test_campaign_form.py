"""The form of a campaign: conditions as rows, results, duplicates and brand files."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from campaigns.admin import campaign_form
from campaigns.models.campaigns import Campaign, UserLoyaltyCampaign
from config.brand_files import sections
from tests.campaigns.accrual.conftest import report_scan
from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


def save(brand, campaign, **fields):
    """Save the campaign's form and leave its milestones unchanged."""
    url, client = address("campaigns.campaign", "change", campaign.pk), browser(staff(brand))
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}
    return client.post(url, {**data, **fields})


def test_conditions_and_budget_are_saved_and_read_back(brand):
    campaign = factories.campaign(brand, target_value=5)
    factories.milestone(campaign, 5)
    serums = {"all": [row("category", "in", ["Serums"])]}

    assert save(brand, campaign, conditions=json.dumps(serums), budget="100", is_repeatable="on").status_code == 302

    campaign.refresh_from_db()
    assert (campaign.conditions, campaign.budget, campaign.is_repeatable) == (serums, 100, True)
    page = text(browser(staff(brand)).get(address("campaigns.campaign", "change", campaign.pk)))
    assert "only where category is one of Serums" in page
    assert "0 of 100 points" in page


@pytest.mark.parametrize(
    ("fields", "expected_text"),
    [
        ({"conditions": json.dumps({"all": [row("amount", "at_least", "5")]})}, "There is no field amount"),
        ({"conditions": "{"}, "The rows could not be read"),
        ({"budget": "0"}, "greater than or equal to 0.01"),
        ({"type": "login", "step_by": "amount"}, "Only scans and orders have products and amounts"),
        ({"step_by": "products"}, "Members have already begun"),
        ({"step_by": "anything"}, "Select a valid choice"),
    ],
)
def test_invalid_campaign_settings_are_rejected_with_a_message(brand, customer, fields, expected_text):
    campaign = factories.campaign(brand)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign)

    answer = save(brand, campaign, **fields)

    assert answer.status_code == 200
    assert expected_text in text(answer)


def test_budget_below_the_points_paid_is_rejected(brand, customer):
    campaign = factories.campaign(brand, budget=50)
    factories.milestone(campaign, 1, reward_points=20)
    report_scan(brand, customer, sku="A", title="A")

    assert "have already paid 20 points" in text(save(brand, campaign, budget="19"))


def test_page_shows_the_results_of_the_campaign(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=20, auto_claim=False)
    report_scan(brand, customer, sku="A", title="A")

    page = text(browser(staff(brand, role="support")).get(address("campaigns.campaign", "page", campaign.pk)))

    assert "1 to be claimed" in page
    assert "20 (no budget)" in page


def test_list_shows_ended_and_scheduled_campaigns(brand):
    now = timezone.now()
    factories.campaign(brand, starts_at=now - timedelta(days=9), ends_at=now - timedelta(days=2))
    factories.campaign(brand, starts_at=now + timedelta(days=4))

    listed = text(browser(staff(brand)).get(address("campaigns.campaign")))

    assert "Ended" in listed
    assert "Scheduled" in listed


def test_list_shows_the_unit_of_a_goal_and_drafts_as_not_launched(brand, customer):
    draft = factories.campaign(brand, target_value=12, is_active=False)
    factories.campaign(brand, target_value=1000, step_by="amount")
    client = browser(staff(brand))
    listed = text(client.get(address("campaigns.campaign")))
    assert [phrase for phrase in ("12 scans", "1,000 EUR", "Not launched") if phrase not in listed] == []
    assert "Paused" not in listed

    UserLoyaltyCampaign.objects.create(user=customer, campaign=draft)

    assert "Paused" in text(client.get(address("campaigns.campaign")))


def test_active_campaign_added_in_the_full_form_starts_immediately(brand):
    client, url = browser(staff(brand)), f"{address('campaigns.campaign', 'add')}?form=all"
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}

    answer = client.post(url, {**data, "campaign_name": "Made by form", "target_value": "3", "is_active": "on"})

    assert answer.status_code == 302, answer.context["errors"]
    campaign = Campaign.objects.get()
    assert abs(campaign.starts_at - timezone.now()) < timedelta(minutes=1)


def test_campaign_activated_in_its_form_starts_now_unless_already_begun(brand, customer):
    new, begun = factories.campaign(brand, is_active=False), factories.campaign(brand, is_active=False)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=begun)

    for campaign in (new, begun):
        assert save(brand, campaign, is_active="on").status_code == 302
        campaign.refresh_from_db()

    assert new.is_active
    assert abs(new.starts_at - timezone.now()) < timedelta(minutes=1)
    assert (begun.is_active, begun.starts_at) == (True, None)


def test_start_set_by_the_form_is_in_the_audit_log(brand):
    campaign = factories.campaign(brand, is_active=False)

    save(brand, campaign, is_active="on")

    campaign.refresh_from_db()
    changes = AuditLogEntry.objects.get(row_id=campaign.pk).changes
    assert changes["is_active"] == [False, True]
    assert changes["starts_at"][0] is None


def test_ended_campaign_can_be_activated_without_a_start(brand):
    ended = factories.campaign(brand, is_active=False, ends_at=timezone.now() - timedelta(days=2))
    client, url = browser(staff(brand)), f"{address('campaigns.campaign', 'add')}?form=all"
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}
    end = {"ends_at_0": "2026-01-02", "ends_at_1": "00:00:00"}

    assert save(brand, ended, **end, is_active="on").status_code == 302
    assert client.post(url, {**data, **end, "campaign_name": "Late", "target_value": "3"}).status_code == 302

    assert list(Campaign.objects.values_list("is_active", "starts_at")) == [(True, None), (True, None)]


def test_saving_a_running_campaign_leaves_its_start_empty(brand):
    campaign = factories.campaign(brand)

    save(brand, campaign, budget="7")

    campaign.refresh_from_db()
    assert (campaign.starts_at, campaign.budget) == (None, 7)


def test_duplicate_is_inactive_and_has_the_same_milestones(brand):
    sundays = {"all": [row("weekday", "in", [6])]}
    campaign = factories.campaign(brand, budget=30, conditions=sundays, starts_at=timezone.now() - timedelta(days=9))
    Campaign.objects.update(ends_at=timezone.now() - timedelta(days=1))
    factories.milestone(campaign, 3, reward_points=5, translations={"de": {"reward_name": "Ein Becher"}})
    client = browser(staff(brand))
    url = address("campaigns.campaign", "duplicate", campaign.pk)
    assert "nobody takes part in it yet" in text(client.get(url))

    client.post(url, {"reason": "Next year"})

    copy = Campaign.objects.exclude(pk=campaign.pk).get()
    assert (copy.campaign_name, copy.is_active, copy.budget) == ("Scan and win (copy 1)", False, 30)
    assert (copy.starts_at, copy.ends_at) == (None, None)
    assert copy.conditions == campaign.conditions
    [milestone] = copy.milestones.all()
    assert (milestone.threshold, milestone.translations) == (3, {"de": {"reward_name": "Ein Becher"}})
    assert AuditLogEntry.objects.filter(row_id=copy.pk, reason="Next year").exists()


@pytest.mark.parametrize("role", ["support", "printer"])
def test_roles_without_add_permission_cannot_duplicate_campaigns(brand, role):
    campaign = factories.campaign(brand)

    answer = browser(staff(brand, role=role)).post(
        address("campaigns.campaign", "duplicate", campaign.pk), {"reason": "Mine"}
    )

    assert answer.status_code in {302, 403}
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize("role", ["support", "printer"])
def test_owner_of_another_brand_needs_add_permission_to_duplicate(brand, role):
    user = staff(factories.brand())
    StaffRole.objects.create(user=user, brand=brand, role=role)
    campaign = factories.campaign(brand)

    browser(user).post(address("campaigns.campaign", "duplicate", campaign.pk), {"reason": "Mine"})

    assert Campaign.objects.count() == 1


def test_repeatable_order_campaign_needs_a_budget(brand):
    campaign = factories.campaign(brand, type="order")

    rejected = save(brand, campaign, is_repeatable="on", budget="")

    assert "Set a budget" in text(rejected)
    assert save(brand, campaign, is_repeatable="on", budget="500").status_code == 302


def test_number_of_running_campaigns_is_limited(brand, monkeypatch):
    monkeypatch.setattr(campaign_form, "MAX_RUNNING", 2)
    factories.campaign(brand)
    factories.campaign(factories.brand())
    second, third = factories.campaign(brand), factories.campaign(brand, is_active=False)

    assert save(brand, second).status_code == 302
    assert "At most 2 campaigns of a type" in text(save(brand, third, is_active="on"))


def test_ended_campaigns_do_not_count_as_running(brand, monkeypatch):
    monkeypatch.setattr(campaign_form, "MAX_RUNNING", 1)
    ended = factories.campaign(brand, ends_at=timezone.now() - timedelta(days=1))
    paused = factories.campaign(brand, is_active=False)
    end = {"ends_at_0": "2026-01-31", "ends_at_1": "18:00:00"}

    assert save(brand, paused, is_active="on").status_code == 302
    assert save(brand, ended, **end).status_code == 302
    assert "At most 1 campaigns of a type" in text(save(brand, ended, ends_at_0="", ends_at_1=""))


def test_overlong_conditions_are_rejected(brand):
    skus = [f"{number:05d}" + "x" * 50 for number in range(180)]
    conditions = json.dumps({"all": [row("sku", "in", skus)]})

    assert "These conditions are too long" in text(save(brand, factories.campaign(brand), conditions=conditions))


def test_campaign_of_another_brand_cannot_be_duplicated(brand):
    other = factories.campaign(factories.brand())

    browser(staff(brand)).post(address("campaigns.campaign", "duplicate", other.pk), {"reason": "Theirs"})

    assert Campaign.objects.count() == 1


def test_brand_file_contains_every_counting_setting_of_a_campaign():
    [section] = [each for each in sections.SECTIONS if each.path == "campaigns"]

    assert {"step_by", "is_repeatable", "conditions", "budget"} <= set(section.fields)
