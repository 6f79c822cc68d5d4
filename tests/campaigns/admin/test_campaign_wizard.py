"""The campaign wizard: template cards, one form in steps, what it creates and what it rejects."""

from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.admin.wizard import pages
from campaigns.models.campaigns import Campaign, UserLoyaltyCampaign
from campaigns.models.earning_rules import EarningRule
from loyalty.models.rewards import Reward
from tests.campaigns.accrual.conftest import report_scan
from tests.campaigns.admin.wizard import LABEL, MINIMAL_DATA, NEW_URL, errors, values_of
from tests.campaigns.earning.earning_rules import earned, row
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def test_lists_and_forms_use_the_word_goal(client, brand):
    campaign = factories.campaign(brand, target_value=12)

    for page in (address(LABEL), address(LABEL, "change", campaign.pk), address(LABEL, "add")):
        page_text = text(client.get(page)).lower()
        assert "goal" in page_text
        assert "target value" not in page_text


# --- Cards


def test_adding_a_campaign_begins_with_template_cards(client, brand):
    page = text(client.get(address(LABEL, "add")))

    for name in ("collect", "spend"):
        assert f"{NEW_URL}?template={name}&amp;brand={brand.pk}" in page
    for name in ("double", "welcome", "win-back", "birthday"):
        assert f"{address('campaigns.earningrule', 'add')}?template={name}&amp;brand={brand.pk}" in page
    assert "?form=all" in page
    assert 'name="campaign_name"' in text(client.get(f"{address(LABEL, 'add')}?form=all"))


def test_campaign_templates_can_be_launched_unchanged(client, brand):
    for name in ("collect", "spend"):
        page = client.get(f"{NEW_URL}?template={name}")
        answer = client.post(f"{NEW_URL}?template={name}", {**values_of(page), "_launch": "1"})
        assert answer.status_code == 302, errors(answer)

    collect, spend = Campaign.objects.order_by("pk")
    assert (collect.type, collect.target_value, collect.is_active) == ("authenticator_scan", 10, True)
    assert (spend.type, spend.step_by, spend.target_value) == ("order", "amount", 100)
    assert list(collect.milestones.values_list("threshold", "reward_points")) == [(5, 20), (10, 50)]
    assert collect.milestones.last().translations == {
        "de": {"reward_name": "50 Punkte"},
        "ar": {"reward_name": "50 نقطة"},
    }


@pytest.mark.parametrize("name", ["double", "welcome", "win-back", "birthday"])
def test_rule_templates_fill_the_form_and_can_be_saved_unchanged(client, brand, name):
    url = f"{address('campaigns.earningrule', 'add')}?template={name}&brand={brand.pk}"
    page = client.get(url)
    data = {key: value for key, value in form_of(page).items() if value is not None}
    for moment in ("starts_at", "ends_at"):
        value = data.pop(moment, None)
        if isinstance(value, datetime):
            local = value.astimezone(brand.zone)
            data |= {f"{moment}_0": f"{local:%Y-%m-%d}", f"{moment}_1": f"{local:%H:%M:%S}"}

    answer = client.post(url, data)

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    rule = EarningRule.objects.get()
    assert (rule.state, rule.brand) == ("draft", brand)
    if name == "double":
        assert (rule.reward_type, rule.reward_value) == ("multiplier", 2)
        assert rule.starts_at.astimezone(brand.zone).weekday() == 0
        assert rule.ends_at - rule.starts_at == timedelta(days=7, seconds=-1)
    if name == "win-back":
        assert rule.conditions["all"][0]["field"] == "days_since_last"


def test_unknown_and_rule_templates_have_no_wizard(client):
    assert client.get(f"{NEW_URL}?template=nothing").status_code == 404
    assert client.get(f"{NEW_URL}?template=double").status_code == 404


# --- What it creates


def test_every_answer_is_saved_in_the_campaign(client, brand):
    factories.level(brand, "Gold", 100)
    product = factories.product(brand, sku="S", title="Serum")
    batch = factories.batch(brand)
    cup = factories.reward(brand, name="Cup", stock=3)
    data = {
        **MINIMAL_DATA,
        "audience": "level",
        "levels": ["Gold"],
        "products": [product.pk],
        "batches": [batch.pk],
        "places": "Berlin, Hamburg,Berlin",
        "is_repeatable": "on",
        "at_1": "3",
        "gives_1": f"r{cup.pk}",
        "points_1": "",
        "auto_1": "claim",
        "at_2": "6",
        "gives_2": "new",
        "new_2": "Spa day",
        "at_3": "10",
        "gives_3": "points",
        "points_3": "12.5",
        "starts_on": "2031-01-02",
        "ends_on": "2031-02-03",
        "budget": "500",
        "name_de": "Sammle 10",
        "_launch": "1",
    }

    answer = client.post(NEW_URL, data)

    assert answer.status_code == 302, errors(answer)
    campaign = Campaign.objects.get()
    assert answer["location"] == address(LABEL, "page", campaign.pk)
    assert campaign.conditions == {
        "all": [
            row("level", "in", ["Gold"]),
            row("product", "in", [product.pk]),
            row("batch", "in", [batch.pk]),
            row("city", "in", ["Berlin", "Hamburg"]),
        ]
    }
    assert campaign.starts_at.astimezone(brand.zone).isoformat()[:19] == "2031-01-02T00:00:00"
    assert campaign.ends_at.astimezone(brand.zone).isoformat()[:19] == "2031-02-03T23:59:59"
    assert (campaign.budget, campaign.is_repeatable, campaign.translations) == (
        500,
        True,
        {"de": {"campaign_name": "Sammle 10"}},
    )
    spa = Reward.objects.get(name="Spa day")
    assert (spa.cost, spa.brand) == (None, brand)
    rows = list(campaign.milestones.values_list("threshold", "reward", "reward_name", "reward_points", "auto_claim"))
    assert rows == [
        (3, cup.pk, "Cup", 0, False),
        (6, spa.pk, "Spa day", 0, True),
        (10, None, "12.50 points", 12.5, True),
    ]
    kinds = AuditLogEntry.objects.values_list("kind", flat=True)
    assert set(kinds) >= {"campaigns.campaign", "loyalty.reward"}
    assert "Scheduled" in text(client.get(answer["location"]))


def test_segment_audience_becomes_a_condition(client, brand):
    golden = factories.segment(brand, name="Golden")

    client.post(NEW_URL, {**MINIMAL_DATA, "audience": "segment", "segments": [golden.pk], "_launch": "1"})

    assert Campaign.objects.get().conditions == {"all": [row("segment", "in", [golden.pk])]}


def test_launched_campaign_counts_scans_and_pays_its_milestones(client, brand, customer):
    client.post(NEW_URL, {**MINIMAL_DATA, "target_value": "2", "at_1": "2", "_launch": "1"})

    report_scan(brand, customer, sku="A", title="A")
    assert (UserLoyaltyCampaign.objects.get().progress, earned()) == (1, [10])
    report_scan(brand, customer, sku="B", title="B")

    assert (UserLoyaltyCampaign.objects.get().progress, earned()) == (2, [10, 10, 50])
    assert factories.account(customer, brand).points == 70
    assert "Running" in text(client.get(address(LABEL, "page", Campaign.objects.get().pk)))


# --- What it rejects


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"target_value": "0"}, "target_value", "greater than or equal to 1"),
        ({"target_value": "5"}, "at_1", "Progress stops at the goal of 5"),
        ({"at_1": ""}, "at_1", "Enter the progress at which it is reached."),
        ({"gives_1": ""}, "gives_1", "Choose what it gives."),
        ({"points_1": ""}, "points_1", "Enter how many points it gives."),
        ({"points_1": "1001"}, "points_1", "At most 1,000 points"),
        ({"points_1": "many"}, "points_1", "Enter a number."),
        ({"gives_1": "new"}, "new_1", "Name the new reward."),
        ({"gives_1": "r999999"}, "gives_1", "Select a valid choice"),
        ({"at_2": "10", "gives_2": "points", "points_2": "1"}, "at_2", "Two milestones have this number."),
        ({"at_1": "", "gives_1": "", "points_1": ""}, "at_1", "enter at least one milestone"),
        ({"audience": "level"}, "levels", "Tick at least one level."),
        ({"audience": "segment"}, "segments", "Tick at least one segment."),
        ({"ends_on": "2001-01-01"}, "ends_on", "This day is over."),
        ({"starts_on": "2031-02-02", "ends_on": "2031-02-01"}, "ends_on", "must not be before the first day"),
        ({"ends_on": "31.12.2031"}, "ends_on", "Enter the date as YYYY-MM-DD"),
        ({"starts_on": "9999-12-31"}, "starts_on", "Enter a date from"),
        ({"budget": "0"}, "budget", "greater than or equal to 0.01"),
        ({"type": "order", "places": "", "is_repeatable": "on"}, "budget", "Set a budget"),
        (
            {"type": "login", "places": "", "step_by": "amount"},
            "__all__",
            "Only scans and orders have products and amounts",
        ),
        ({"type": "login", "places": "Berlin"}, "places", "Only scans have a place."),
        ({"step_by": "anything"}, "step_by", "Select a valid choice"),
    ],
)
def test_invalid_entry_is_reported_at_its_field_and_input_is_preserved(client, fields, field, message):
    data = {**MINIMAL_DATA, "name_de": "Sammle zehn", "places": "Köln", **fields}

    answer = client.post(NEW_URL, {**data, "_launch": "1"})

    assert answer.status_code == 200
    assert message in errors(answer)[field]
    assert not Campaign.objects.exists()
    assert not Reward.objects.exists()
    page = text(answer)
    for name in ("name", "name_de", "places", "at_1", "points_1", "ends_on"):
        if data.get(name):
            assert f'value="{data[name]}"' in page, name


@pytest.mark.parametrize("value", ["x" * 300, "\x00", "９", "1e999", "-1", "NaN", "<script>"])
def test_hostile_entries_cause_no_server_error(client, value):
    for name in [*MINIMAL_DATA, "places", "levels", "products", "starts_on", "budget", "gives_2", "auto_2"]:
        assert client.post(NEW_URL, {**MINIMAL_DATA, name: value, "_later": "1"}).status_code in {200, 302}


def test_duplicate_name_is_reported_at_its_field(client, brand):
    existing = factories.campaign(brand, campaign_name="Collect 10")
    Campaign.objects.filter(pk=existing.pk).update(created_at=timezone.now() - timedelta(hours=1))

    answer = client.post(NEW_URL, {**MINIMAL_DATA, "_launch": "1"})

    assert "Another campaign has this name." in errors(answer)["name"]
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize(
    "fields", [{"points_1": "60"}, {"target_value": "12"}, {"ends_on": "2031-01-02"}, {"_launch": "1"}]
)
def test_another_campaign_with_a_new_name_is_not_taken_for_a_double_click(client, fields):
    client.post(NEW_URL, {**MINIMAL_DATA, "_later": "1"})

    answer = client.post(NEW_URL, {**MINIMAL_DATA, **fields})

    assert "Another campaign has this name." in errors(answer)["name"]
    assert Campaign.objects.count() == 1


def test_a_double_click_shows_the_campaign_that_the_first_click_created(client, brand):
    factories.level(brand, "²", 100)
    cup = factories.reward(brand, name="Cup")
    data = {
        **MINIMAL_DATA,
        "audience": "level",
        "levels": ["²"],
        "at_2": "3",
        "gives_2": f"r{cup.pk}",
        "at_3": "4",
        "gives_3": "new",
        "new_3": "Spa day",
        "ends_on": "2031-01-02",
        "name_de": "Sammle 10",
        "_launch": "1",
    }

    answers = [client.post(NEW_URL, data) for _ in range(2)]

    assert [answer["location"] for answer in answers] == [address(LABEL, "page", Campaign.objects.get().pk)] * 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_submissions_create_one_campaign():
    brand = factories.brand()
    user = staff(brand)

    answers = run_concurrently(
        lambda _n: browser(user).post(NEW_URL, {**MINIMAL_DATA, "_launch": "1"}), range(4), threads=4
    )

    assert {answer.status_code for answer in answers} == {302}
    assert len({answer["location"] for answer in answers}) == 1
    assert Campaign.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_each_submission_creates_a_campaign_without_the_lock(monkeypatch):
    """Each checks for a campaign with the name before the other is saved."""
    brand = factories.brand()
    user, both_checked = staff(brand), Barrier(2, timeout=10)
    campaign_named = pages.CampaignWizard.campaign_named

    def check_and_wait(*arguments):
        result = campaign_named(*arguments)
        both_checked.wait()
        return result

    monkeypatch.setattr(pages.CampaignWizard, "campaign_named", check_and_wait)
    monkeypatch.setattr(pages.Brand.objects, "select_for_update", lambda **_options: pages.Brand.objects.all())

    run_concurrently(lambda _n: browser(user).post(NEW_URL, {**MINIMAL_DATA, "_launch": "1"}), range(2), threads=2)

    assert Campaign.objects.count() == 2
