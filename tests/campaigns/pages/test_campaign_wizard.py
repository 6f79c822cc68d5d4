"""The wizard of campaigns: cards, one form in steps, what it makes, what it refuses, and what it leaves as it is."""

from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from campaigns.admin.wizard import audience, form, pages
from campaigns.models.campaigns import Campaign, Milestone, UserLoyaltyCampaign
from campaigns.models.earning_rules import EarningRule
from campaigns.models.replays import Replay
from loyalty.models.rewards import Reward
from tests.campaigns.accrual.test_campaign_steps import scanned
from tests.campaigns.rules.test_accrual_by_rules import row
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db
LABEL = "campaigns.campaign"
NEW = address(LABEL, "new")
PLAIN = {
    "audience": "all",
    "type": "authenticator_scan",
    "step_by": "count",
    "target_value": "10",
    "name": "Collect 10",
    "at_1": "10",
    "gives_1": "points",
    "points_1": "50",
    "auto_1": "auto",
}


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def test_lists_and_forms_call_the_goal_alike(client, brand):
    campaign = factories.campaign(brand, target_value=12)

    for page in (address(LABEL), address(LABEL, "change", campaign.pk), address(LABEL, "add")):
        shown = text(client.get(page)).lower()
        assert "goal" in shown
        assert "target value" not in shown


def values_of(page):
    """What a browser would send back unchanged."""
    bound = page.context["form"]
    sent = {each.html_name: each.value() for each in bound}
    return {name: value for name, value in sent.items() if value not in (None, False, "")} | {
        "opened": page.context["opened"],
        "brand": page.context["brand"].pk,
    }


def errors(answer):
    return {name: " ".join(texts) for name, texts in answer.context["form"].errors.items()}


# --- Cards


def test_a_new_campaign_begins_with_cards(client, brand):
    page = text(client.get(address(LABEL, "add")))

    for name in ("collect", "spend"):
        assert f"{NEW}?template={name}&amp;brand={brand.pk}" in page
    for name in ("double", "welcome", "win-back", "birthday"):
        assert f"{address('campaigns.earningrule', 'add')}?template={name}&amp;brand={brand.pk}" in page
    assert "?form=all" in page
    assert 'name="campaign_name"' in text(client.get(f"{address(LABEL, 'add')}?form=all"))


def test_each_card_that_is_a_campaign_is_launched_as_it_is(client, brand):
    for name in ("collect", "spend"):
        page = client.get(f"{NEW}?template={name}")
        answer = client.post(f"{NEW}?template={name}", {**values_of(page), "_launch": "1"})
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
def test_each_card_that_is_a_rule_fills_the_builder_and_is_saved_as_it_is(client, brand, name):
    its = f"{address('campaigns.earningrule', 'add')}?template={name}&brand={brand.pk}"
    page = client.get(its)
    sent = {key: value for key, value in form_of(page).items() if value is not None}
    for moment in ("starts_at", "ends_at"):
        value = sent.pop(moment, None)
        if isinstance(value, datetime):
            local = value.astimezone(brand.zone)
            sent |= {f"{moment}_0": f"{local:%Y-%m-%d}", f"{moment}_1": f"{local:%H:%M:%S}"}

    answer = client.post(its, sent)

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    made = EarningRule.objects.get()
    assert (made.state, made.brand) == ("draft", brand)
    if name == "double":
        assert (made.reward_type, made.reward_value) == ("multiplier", 2)
        assert made.starts_at.astimezone(brand.zone).weekday() == 0
        assert made.ends_at - made.starts_at == timedelta(days=7, seconds=-1)
    if name == "win-back":
        assert made.conditions["all"][0]["field"] == "days_since_last"


def test_an_unknown_card_and_one_that_is_a_rule_have_no_wizard(client):
    assert client.get(f"{NEW}?template=nothing").status_code == 404
    assert client.get(f"{NEW}?template=double").status_code == 404


# --- What it makes


def test_everything_that_was_asked_becomes_the_campaign(client, brand):
    factories.level(brand, "Gold", 100)
    product = factories.product(brand, sku="S", title="Serum")
    batch = factories.batch(brand)
    cup = factories.reward(brand, name="Cup", stock=3)
    sent = {
        **PLAIN,
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

    answer = client.post(NEW, sent)

    assert answer.status_code == 302, errors(answer)
    made = Campaign.objects.get()
    assert answer["location"] == address(LABEL, "page", made.pk)
    assert made.conditions == {
        "all": [
            row("level", "in", ["Gold"]),
            row("product", "in", [product.pk]),
            row("batch", "in", [batch.pk]),
            row("city", "in", ["Berlin", "Hamburg"]),
        ]
    }
    assert made.starts_at.astimezone(brand.zone).isoformat()[:19] == "2031-01-02T00:00:00"
    assert made.ends_at.astimezone(brand.zone).isoformat()[:19] == "2031-02-03T23:59:59"
    assert (made.budget, made.is_repeatable, made.translations) == (500, True, {"de": {"campaign_name": "Sammle 10"}})
    spa = Reward.objects.get(name="Spa day")
    assert (spa.cost, spa.brand) == (None, brand)
    rows = list(made.milestones.values_list("threshold", "reward", "reward_name", "reward_points", "auto_claim"))
    assert rows == [
        (3, cup.pk, "Cup", 0, False),
        (6, spa.pk, "Spa day", 0, True),
        (10, None, "12.50 points", 12.5, True),
    ]
    kinds = AuditLogEntry.objects.values_list("kind", flat=True)
    assert set(kinds) >= {"campaigns.campaign", "loyalty.reward"}
    assert "Scheduled" in text(client.get(answer["location"]))


def test_a_campaign_for_a_segment_counts_its_members(client, brand):
    golden = factories.segment(brand, name="Golden")

    client.post(NEW, {**PLAIN, "audience": "segment", "segments": [golden.pk], "_launch": "1"})

    assert Campaign.objects.get().conditions == {"all": [row("segment", "in", [golden.pk])]}


def test_a_launched_campaign_counts_and_pays(client, brand, customer):
    client.post(NEW, {**PLAIN, "target_value": "1", "at_1": "1", "_launch": "1"})

    scanned(brand, customer, sku="A", title="A")

    assert UserLoyaltyCampaign.objects.get().progress == 1
    assert "Running" in text(client.get(address(LABEL, "page", Campaign.objects.get().pk)))


# --- What it refuses


@pytest.mark.parametrize(
    ("fields", "field", "says"),
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
def test_each_wrong_entry_is_answered_at_its_field_and_nothing_typed_is_lost(client, fields, field, says):
    typed = {**PLAIN, "name_de": "Sammle zehn", "places": "Köln", **fields}

    answer = client.post(NEW, {**typed, "_launch": "1"})

    assert answer.status_code == 200
    assert says in errors(answer)[field]
    assert not Campaign.objects.exists()
    assert not Reward.objects.exists()
    page = text(answer)
    for name in ("name", "name_de", "places", "at_1", "points_1", "ends_on"):
        if typed.get(name):
            assert f'value="{typed[name]}"' in page, name


@pytest.mark.parametrize("value", ["x" * 300, "\x00", "９", "1e999", "-1", "NaN", "<script>"])
def test_hostile_entries_are_answered(client, value):
    for name in [*PLAIN, "places", "levels", "products", "starts_on", "budget", "gives_2", "auto_2"]:
        assert client.post(NEW, {**PLAIN, name: value, "_later": "1"}).status_code in {200, 302}


def test_a_name_that_is_taken_is_answered_at_its_field(client, brand):
    taken = factories.campaign(brand, campaign_name="Collect 10")
    Campaign.objects.filter(pk=taken.pk).update(created_at=timezone.now() - timedelta(hours=1))

    answer = client.post(NEW, {**PLAIN, "_launch": "1"})

    assert "Another campaign has this name." in errors(answer)["name"]
    assert Campaign.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_button_pressed_twice_makes_one_campaign(monkeypatch):
    brand = factories.brand()
    person = staff(brand)

    answers = at_once(lambda _n: browser(person).post(NEW, {**PLAIN, "_launch": "1"}), range(4), threads=4)

    assert {answer.status_code for answer in answers} == {302}
    assert len({answer["location"] for answer in answers}) == 1
    assert Campaign.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_look_for_a_twin_each_press_makes_one(monkeypatch):
    brand = factories.brand()
    person, together = staff(brand), Barrier(2)
    monkeypatch.setattr(pages.CampaignWizard, "twin_of", lambda *_what: (together.wait(), None)[1])
    monkeypatch.setattr(pages.Brand.objects, "select_for_update", lambda **_options: pages.Brand.objects.all())

    at_once(lambda _n: browser(person).post(NEW, {**PLAIN, "_launch": "1"}), range(2), threads=2)

    assert Campaign.objects.count() == 2


# --- Saved for later, tried, launched later


def saved_for_later(client, **fields):
    client.post(NEW, {**PLAIN, **fields, "_later": "1"})
    return Campaign.objects.get()


def test_saved_for_later_is_a_draft_that_the_page_can_be_undone_to(client, brand):
    made = saved_for_later(client, places="Berlin")

    assert not made.is_active
    page = text(client.get(address(LABEL, "page", made.pk)))
    assert "Not launched" in page
    assert address(LABEL, "plan", made.pk) in page
    plan = client.get(address(LABEL, "plan", made.pk))
    assert values_of(plan)["places"] == "Berlin"
    answer = client.post(
        address(LABEL, "plan", made.pk), {**values_of(plan), "name": "Ten", "at_1": "4", "_launch": "1"}
    )
    assert answer.status_code == 302, errors(answer)
    made.refresh_from_db()
    assert (made.campaign_name, made.is_active) == ("Ten", True)
    assert list(Milestone.objects.values_list("threshold", flat=True)) == [4]


def test_trying_saves_it_for_later_and_starts_a_job(client, brand):
    answer = client.post(NEW, {**PLAIN, "_try": "1"})

    made = Campaign.objects.get()
    assert answer["location"] == f"{address(LABEL, 'plan', made.pk)}#limits"
    assert not made.is_active
    assert Replay.objects.get().campaign == made
    assert "data-job" in text(client.get(address(LABEL, "plan", made.pk)))


def test_a_campaign_that_was_launched_has_no_plan(client, brand):
    made = saved_for_later(client)
    plan = client.get(address(LABEL, "plan", made.pk))
    Campaign.objects.update(is_active=True)

    assert client.get(address(LABEL, "plan", made.pk))["location"] == address(LABEL, "page", made.pk)
    client.post(address(LABEL, "plan", made.pk), {**values_of(plan), "name": "Mine", "_later": "1"})
    made.refresh_from_db()
    assert (made.is_active, made.campaign_name) == (True, "Collect 10")


def test_a_stale_tab_is_told_and_keeps_what_was_typed(client, brand):
    made = saved_for_later(client)
    its = address(LABEL, "plan", made.pk)
    first, second = client.get(its), client.get(its)
    client.post(its, {**values_of(first), "name": "First", "_later": "1"})

    answer = client.post(its, {**values_of(second), "name": "Second", "_later": "1"})

    assert "Somebody else changed this after you opened it." in text(answer)
    assert 'value="Second"' in text(answer)
    made.refresh_from_db()
    assert made.campaign_name == "First"


@pytest.mark.parametrize(
    "conditions",
    [
        {"any": [row("level", "in", ["Gold"])]},
        {"all": [row("weekday", "in", [6])]},
        {"all": [row("city", "not_in", ["Berlin"])]},
        {"all": [row("city", "in", ["Berlin"]), row("city", "in", ["Bonn"])]},
        {"all": [{"any": [row("city", "in", ["Berlin"])]}]},
    ],
)
def test_a_campaign_with_more_than_the_wizard_asks_goes_to_its_form(client, brand, conditions):
    made = factories.campaign(brand, is_active=False, conditions=conditions)

    assert client.get(address(LABEL, "plan", made.pk))["location"] == address(LABEL, "change", made.pk)
    made.refresh_from_db()
    assert made.conditions == conditions


def test_answers_and_conditions_are_each_other_s_inverse():
    cleaned = {
        "audience": "segment",
        "levels": [],
        "segments": ["3"],
        "products": ["7"],
        "batches": [],
        "places": ["Zug"],
    }

    initial = audience.initial_of(audience.conditions_of(cleaned))

    assert initial == {"audience": "segment", "segments": ["3"], "products": ["7"], "places": "Zug"}
    assert audience.initial_of({}) == {"audience": "all"}


# --- Roles and tenants


@pytest.mark.parametrize("role", ["support", "printer"])
def test_who_may_not_add_campaigns_has_no_wizard(brand, role):
    campaign = factories.campaign(brand, is_active=False)
    person = browser(staff(brand, role=role))

    assert person.get(NEW).status_code == 403
    assert person.get(address(LABEL, "add")).status_code == 403
    assert person.post(NEW, {**PLAIN, "_launch": "1"}).status_code == 403
    assert person.get(address(LABEL, "plan", campaign.pk)).status_code == 403
    assert Campaign.objects.count() == 1


def test_rows_of_another_brand_are_neither_offered_nor_taken(client, brand):
    other = factories.brand()
    theirs = {
        "products": factories.product(other, sku="T", title="Their serum").pk,
        "batches": factories.batch(other, range_name="Their batch").pk,
        "segments": factories.segment(other, name="Their segment").pk,
    }
    cup = factories.reward(other, name="Their cup")
    factories.level(other, "Their level", 50)

    page = text(client.get(NEW))
    assert "Their " not in page
    for name, pk in theirs.items():
        answer = client.post(NEW, {**PLAIN, "audience": "all", name: [pk], "_launch": "1"})
        assert "Select a valid choice" in errors(answer)[name]
        assert "Their" not in text(answer)
    assert "gives_1" in errors(client.post(NEW, {**PLAIN, "gives_1": f"r{cup.pk}", "_launch": "1"}))
    assert client.post(NEW, {**PLAIN, "brand": other.pk, "_launch": "1"}).status_code == 404
    assert client.get(f"{NEW}?brand={other.pk}").status_code == 404
    assert not Campaign.objects.exists()


def test_who_works_for_several_brands_chooses_one(brand):
    second = factories.brand(name="Second brand")
    person = staff(brand, second)
    client = browser(person)

    assert "Second brand" in text(client.get(address(LABEL, "add")))
    page = client.get(f"{NEW}?template=collect&brand={second.pk}")
    client.post(f"{NEW}?template=collect", {**values_of(page), "_launch": "1"})
    assert Campaign.objects.get().brand == second
    StaffRole.objects.filter(user=person, brand=second).update(role="support")
    assert client.get(f"{NEW}?brand={second.pk}").status_code == 404


def test_the_phone_and_the_line_show_what_the_form_says(client, brand):
    page = text(client.get(NEW))

    assert page.count('class="campaign-stop"') == 2
    assert "points: 70, rewards: 0" in page
    assert form.ROWS == 5
