"""The campaign wizard: drafts saved for later, campaigns that it cannot edit, and permissions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.people import StaffRole
from campaigns.admin.wizard import form, wizard_conditions
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.models.replays import Replay
from tests.campaigns.admin.wizard import LABEL, MINIMAL_DATA, NEW_URL, errors, values_of
from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand):
    return browser(staff(brand))


# --- Saved for later, replayed, launched later


def save_draft(client, **fields):
    client.post(NEW_URL, {**MINIMAL_DATA, **fields, "_later": "1"})
    return Campaign.objects.get()


def test_saved_draft_can_be_edited_and_launched_later(client, brand):
    campaign = save_draft(client, places="Berlin")

    assert not campaign.is_active
    page = text(client.get(address(LABEL, "page", campaign.pk)))
    assert "Not launched" in page
    assert address(LABEL, "plan", campaign.pk) in page
    plan = client.get(address(LABEL, "plan", campaign.pk))
    assert values_of(plan)["places"] == "Berlin"
    answer = client.post(
        address(LABEL, "plan", campaign.pk), {**values_of(plan), "name": "Ten", "at_1": "4", "_launch": "1"}
    )
    assert answer.status_code == 302, errors(answer)
    campaign.refresh_from_db()
    assert (campaign.campaign_name, campaign.is_active) == ("Ten", True)
    assert list(Milestone.objects.values_list("threshold", flat=True)) == [4]


def test_campaign_launched_without_a_first_day_starts_now(client, brand):
    campaign = save_draft(client)
    page = text(client.get(address(LABEL, "page", campaign.pk)))
    assert "starts when you launch it" in page
    url = address(LABEL, "plan", campaign.pk)

    client.post(url, {**values_of(client.get(url)), "_launch": "1"})

    campaign.refresh_from_db()
    assert abs(campaign.starts_at - timezone.now()) < timedelta(minutes=1)
    assert "starts when you launch it" not in text(client.get(address(LABEL, "page", campaign.pk)))


def test_campaign_paused_before_anyone_took_part_restarts_when_launched(client, brand):
    client.post(NEW_URL, {**MINIMAL_DATA, "_launch": "1"})
    campaign = Campaign.objects.get()
    Campaign.objects.update(starts_at=timezone.now() - timedelta(days=3), is_active=False)
    url = address(LABEL, "plan", campaign.pk)

    client.post(url, {**values_of(client.get(url)), "_launch": "1"})

    campaign.refresh_from_db()
    assert campaign.is_active
    assert abs(campaign.starts_at - timezone.now()) < timedelta(minutes=1)


def test_starting_a_replay_saves_the_draft_and_starts_a_job(client, brand):
    answer = client.post(NEW_URL, {**MINIMAL_DATA, "_replay": "1"})

    campaign = Campaign.objects.get()
    assert answer["location"] == f"{address(LABEL, 'plan', campaign.pk)}#limits"
    assert not campaign.is_active
    assert Replay.objects.get().campaign == campaign
    assert "data-job" in text(client.get(address(LABEL, "plan", campaign.pk)))


def test_texts_of_a_points_milestone_do_not_depend_on_the_language_of_staff(brand):
    brand.max_points_per_scan = 5000
    brand.save()
    german = browser(staff(brand, portal_language="de"))

    campaign = save_draft(german, points_1="1500")

    milestone = campaign.milestones.get()
    assert (milestone.reward_name, milestone.translations["de"]) == ("1,500 points", {"reward_name": "1.500 Punkte"})
    assert browser(staff(brand)).get(address(LABEL, "plan", campaign.pk)).status_code == 200


@pytest.mark.parametrize("fields", [{"reward_name": "A present"}, {"translations": {"de": {"reward_name": "Da!"}}}])
def test_wizard_does_not_overwrite_texts_that_staff_wrote_for_a_milestone(client, fields):
    campaign = save_draft(client)
    campaign.milestones.update(**fields)

    assert client.get(address(LABEL, "plan", campaign.pk))["location"] == address(LABEL, "change", campaign.pk)


def test_launched_campaign_can_no_longer_be_edited_in_the_wizard(client, brand):
    campaign = save_draft(client)
    plan = client.get(address(LABEL, "plan", campaign.pk))
    Campaign.objects.update(is_active=True)

    assert client.get(address(LABEL, "plan", campaign.pk))["location"] == address(LABEL, "page", campaign.pk)
    client.post(address(LABEL, "plan", campaign.pk), {**values_of(plan), "name": "Mine", "_later": "1"})
    campaign.refresh_from_db()
    assert (campaign.is_active, campaign.campaign_name) == (True, "Collect 10")


def test_stale_form_is_rejected_and_its_input_preserved(client, brand):
    campaign = save_draft(client)
    url = address(LABEL, "plan", campaign.pk)
    first, second = client.get(url), client.get(url)
    client.post(url, {**values_of(first), "name": "First", "_later": "1"})

    answer = client.post(url, {**values_of(second), "name": "Second", "_later": "1"})

    assert "Somebody else changed this after you opened it." in text(answer)
    assert 'value="Second"' in text(answer)
    campaign.refresh_from_db()
    assert campaign.campaign_name == "First"


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
def test_campaign_beyond_the_wizards_questions_redirects_to_its_form(client, brand, conditions):
    campaign = factories.campaign(brand, is_active=False, conditions=conditions)

    assert client.get(address(LABEL, "plan", campaign.pk))["location"] == address(LABEL, "change", campaign.pk)
    campaign.refresh_from_db()
    assert campaign.conditions == conditions


def test_audience_answers_can_be_restored_from_conditions(brand):
    segments, products = [str(factories.segment(brand).pk)], [str(factories.product(brand).pk)]
    cleaned = {
        "audience": "segment",
        "levels": [],
        "segments": segments,
        "products": products,
        "batches": [],
        "places": ["Zug"],
    }

    initial = wizard_conditions.initial_of(wizard_conditions.conditions_of(cleaned), brand=brand)

    assert initial == {"audience": "segment", "segments": segments, "products": products, "places": "Zug"}
    assert wizard_conditions.initial_of({}, brand=brand) == {"audience": "all"}


# --- Roles and tenants


@pytest.mark.parametrize("role", ["support", "printer"])
def test_roles_without_add_permission_cannot_use_the_wizard(brand, role):
    campaign = factories.campaign(brand, is_active=False)
    client = browser(staff(brand, role=role))

    assert client.get(NEW_URL).status_code == 403
    assert client.get(address(LABEL, "add")).status_code == 403
    assert client.post(NEW_URL, {**MINIMAL_DATA, "_launch": "1"}).status_code == 403
    assert client.get(address(LABEL, "plan", campaign.pk)).status_code == 403
    assert Campaign.objects.count() == 1


def test_rows_of_another_brand_are_neither_offered_nor_accepted(client, brand):
    other = factories.brand()
    foreign_rows = {
        "products": factories.product(other, sku="T", title="Their serum").pk,
        "batches": factories.batch(other, range_name="Their batch").pk,
        "segments": factories.segment(other, name="Their segment").pk,
    }
    cup = factories.reward(other, name="Their cup")
    factories.level(other, "Their level", 50)

    page = text(client.get(NEW_URL))
    assert "Their " not in page
    for name, pk in foreign_rows.items():
        answer = client.post(NEW_URL, {**MINIMAL_DATA, "audience": "all", name: [pk], "_launch": "1"})
        assert "Select a valid choice" in errors(answer)[name]
        assert "Their" not in text(answer)
    assert "gives_1" in errors(client.post(NEW_URL, {**MINIMAL_DATA, "gives_1": f"r{cup.pk}", "_launch": "1"}))
    assert client.post(NEW_URL, {**MINIMAL_DATA, "brand": other.pk, "_launch": "1"}).status_code == 404
    assert client.get(f"{NEW_URL}?brand={other.pk}").status_code == 404
    assert not Campaign.objects.exists()


def test_staff_of_several_brands_choose_one(brand):
    second = factories.brand(name="Second brand")
    user = staff(brand, second)
    client = browser(user)

    assert "Second brand" in text(client.get(address(LABEL, "add")))
    page = client.get(f"{NEW_URL}?template=collect&brand={second.pk}")
    client.post(f"{NEW_URL}?template=collect", {**values_of(page), "_launch": "1"})
    assert Campaign.objects.get().brand == second
    StaffRole.objects.filter(user=user, brand=second).update(role="support")
    assert client.get(f"{NEW_URL}?brand={second.pk}").status_code == 404


def test_preview_shows_the_milestones_and_points_of_the_form(client, brand):
    page = text(client.get(NEW_URL))

    assert page.count('class="campaign-milestone"') == 2
    assert "points: 70, rewards: 0" in page
    assert form.ROWS == 5
