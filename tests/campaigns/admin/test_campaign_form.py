"""The page of a campaign: conditions as rows, results, a duplicate; and its files."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from campaigns.admin import campaign_form
from campaigns.models.campaigns import Campaign, UserLoyaltyCampaign
from config.brand_files import sections
from tests.campaigns.accrual.conftest import scanned
from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


def save(brand, campaign, **fields):
    """The campaign's page with its milestones as they are."""
    its, client = address("campaigns.campaign", "change", campaign.pk), browser(staff(brand))
    sent = {name: value for name, value in form_of(client.get(its)).items() if value is not None}
    return client.post(its, {**sent, **fields})


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
def test_what_cannot_be_counted_is_refused_in_words(brand, customer, fields, expected_text):
    campaign = factories.campaign(brand)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign)

    answer = save(brand, campaign, **fields)

    assert answer.status_code == 200
    assert expected_text in text(answer)


def test_a_budget_below_what_was_paid_is_refused(brand, customer):
    campaign = factories.campaign(brand, budget=50)
    factories.milestone(campaign, 1, reward_points=20)
    scanned(brand, customer, sku="A", title="A")

    assert "have already paid 20 points" in text(save(brand, campaign, budget="19"))


def test_the_page_shows_what_the_campaign_has_brought(brand, customer):
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 1, reward_points=20, auto_claim=False)
    scanned(brand, customer, sku="A", title="A")

    page = text(browser(staff(brand, role="support")).get(address("campaigns.campaign", "page", campaign.pk)))

    assert "1 to be claimed" in page
    assert "20 (no budget)" in page


def test_the_list_calls_an_ended_campaign_ended(brand):
    now = timezone.now()
    factories.campaign(brand, starts_at=now - timedelta(days=9), ends_at=now - timedelta(days=2))
    factories.campaign(brand, starts_at=now + timedelta(days=4))

    listed = text(browser(staff(brand)).get(address("campaigns.campaign")))

    assert "Ended" in listed
    assert "Scheduled" in listed


def test_the_list_says_what_a_goal_counts_and_calls_a_draft_not_launched(brand, customer):
    draft = factories.campaign(brand, target_value=12, is_active=False)
    factories.campaign(brand, target_value=1000, step_by="amount")
    client = browser(staff(brand))
    listed = text(client.get(address("campaigns.campaign")))
    assert [phrase for phrase in ("12 scans", "1,000 EUR", "Not launched") if phrase not in listed] == []
    assert "Paused" not in listed

    UserLoyaltyCampaign.objects.create(user=customer, campaign=draft)

    assert "Paused" in text(client.get(address("campaigns.campaign")))


def test_a_new_campaign_of_the_whole_form_starts_when_it_is_added(brand):
    client, its = browser(staff(brand)), f"{address('campaigns.campaign', 'add')}?form=all"
    sent = {name: value for name, value in form_of(client.get(its)).items() if value is not None}

    answer = client.post(its, {**sent, "campaign_name": "Made by form", "target_value": "3", "is_active": "on"})

    assert answer.status_code == 302, answer.context["errors"]
    made = Campaign.objects.get()
    assert abs(made.starts_at - timezone.now()) < timedelta(minutes=1)


def test_a_campaign_that_is_switched_on_in_its_form_starts_then(brand, customer):
    new, begun = factories.campaign(brand, is_active=False), factories.campaign(brand, is_active=False)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=begun)

    for campaign in (new, begun):
        assert save(brand, campaign, is_active="on").status_code == 302
        campaign.refresh_from_db()

    assert new.is_active
    assert abs(new.starts_at - timezone.now()) < timedelta(minutes=1)
    assert (begun.is_active, begun.starts_at) == (True, None)


def test_the_start_that_a_form_gives_is_in_the_audit_log(brand):
    campaign = factories.campaign(brand, is_active=False)

    save(brand, campaign, is_active="on")

    campaign.refresh_from_db()
    changes = AuditLogEntry.objects.get(row_id=campaign.pk).changes
    assert changes["is_active"] == [False, True]
    assert changes["starts_at"][0] is None


def test_a_campaign_that_is_over_can_be_switched_on_and_has_no_start(brand):
    over = factories.campaign(brand, is_active=False, ends_at=timezone.now() - timedelta(days=2))
    client, its = browser(staff(brand)), f"{address('campaigns.campaign', 'add')}?form=all"
    sent = {name: value for name, value in form_of(client.get(its)).items() if value is not None}
    end = {"ends_at_0": "2026-01-02", "ends_at_1": "00:00:00"}

    assert save(brand, over, **end, is_active="on").status_code == 302
    assert client.post(its, {**sent, **end, "campaign_name": "Late", "target_value": "3"}).status_code == 302

    assert list(Campaign.objects.values_list("is_active", "starts_at")) == [(True, None), (True, None)]


def test_a_campaign_that_runs_keeps_its_start_empty(brand):
    campaign = factories.campaign(brand)

    save(brand, campaign, budget="7")

    campaign.refresh_from_db()
    assert (campaign.starts_at, campaign.budget) == (None, 7)


def test_a_duplicate_is_switched_off_and_has_the_same_milestones(brand):
    sundays = {"all": [row("weekday", "in", [6])]}
    campaign = factories.campaign(brand, budget=30, conditions=sundays, starts_at=timezone.now() - timedelta(days=9))
    Campaign.objects.update(ends_at=timezone.now() - timedelta(days=1))
    factories.milestone(campaign, 3, reward_points=5, translations={"de": {"reward_name": "Ein Becher"}})
    client = browser(staff(brand))
    its = address("campaigns.campaign", "duplicate", campaign.pk)
    assert "nobody takes part in it yet" in text(client.get(its))

    client.post(its, {"reason": "Next year"})

    copy = Campaign.objects.exclude(pk=campaign.pk).get()
    assert (copy.campaign_name, copy.is_active, copy.budget) == ("Scan and win (copy 1)", False, 30)
    assert (copy.starts_at, copy.ends_at) == (None, None)
    assert copy.conditions == campaign.conditions
    [milestone] = copy.milestones.all()
    assert (milestone.threshold, milestone.translations) == (3, {"de": {"reward_name": "Ein Becher"}})
    assert AuditLogEntry.objects.filter(row_id=copy.pk, reason="Next year").exists()


@pytest.mark.parametrize("role", ["support", "printer"])
def test_who_may_not_add_campaigns_duplicates_none(brand, role):
    campaign = factories.campaign(brand)

    answer = browser(staff(brand, role=role)).post(
        address("campaigns.campaign", "duplicate", campaign.pk), {"reason": "Mine"}
    )

    assert answer.status_code in {302, 403}
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize("role", ["support", "printer"])
def test_an_owner_elsewhere_duplicates_nothing_where_they_may_not_add(brand, role):
    person = staff(factories.brand())
    StaffRole.objects.create(user=person, brand=brand, role=role)
    campaign = factories.campaign(brand)

    browser(person).post(address("campaigns.campaign", "duplicate", campaign.pk), {"reason": "Mine"})

    assert Campaign.objects.count() == 1


def test_orders_that_can_be_returned_win_no_rounds_without_a_budget(brand):
    campaign = factories.campaign(brand, type="order")

    refused = save(brand, campaign, is_repeatable="on", budget="")

    assert "Set a budget" in text(refused)
    assert save(brand, campaign, is_repeatable="on", budget="500").status_code == 302


def test_so_many_campaigns_at_once_are_enough(brand, monkeypatch):
    monkeypatch.setattr(campaign_form, "MAX_RUNNING", 2)
    factories.campaign(brand)
    factories.campaign(factories.brand())
    second, third = factories.campaign(brand), factories.campaign(brand, is_active=False)

    assert save(brand, second).status_code == 302
    assert "At most 2 campaigns of a type" in text(save(brand, third, is_active="on"))


def test_conditions_that_each_action_would_read_are_short(brand):
    skus = [f"{number:05d}" + "x" * 50 for number in range(180)]
    conditions = json.dumps({"all": [row("sku", "in", skus)]})

    assert "These conditions are too long" in text(save(brand, factories.campaign(brand), conditions=conditions))


def test_another_brand_s_campaign_is_not_duplicated(brand):
    other = factories.campaign(factories.brand())

    browser(staff(brand)).post(address("campaigns.campaign", "duplicate", other.pk), {"reason": "Theirs"})

    assert Campaign.objects.count() == 1


def test_a_brand_file_names_all_that_a_campaign_counts():
    [section] = [each for each in sections.SECTIONS if each.path == "campaigns"]

    assert {"step_by", "is_repeatable", "conditions", "budget"} <= set(section.fields)
