"""The wizard of campaigns: what is saved for later, what is too much for it, and whose rows it offers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.people import StaffRole
from campaigns.admin.wizard import form, wizard_conditions
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.models.replays import Replay
from tests.campaigns.admin.wizard import LABEL, NEW, PLAIN, errors, values_of
from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand):
    return browser(staff(brand))


# --- Saved for later, replayed, launched later


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


def test_what_is_launched_without_a_first_day_starts_now(client, brand):
    made = saved_for_later(client)
    page = text(client.get(address(LABEL, "page", made.pk)))
    assert "starts when you launch it" in page
    its = address(LABEL, "plan", made.pk)

    client.post(its, {**values_of(client.get(its)), "_launch": "1"})

    made.refresh_from_db()
    assert abs(made.starts_at - timezone.now()) < timedelta(minutes=1)
    assert "starts when you launch it" not in text(client.get(address(LABEL, "page", made.pk)))


def test_what_was_launched_and_paused_before_anybody_took_part_has_its_plan_and_gets_a_new_start(client, brand):
    client.post(NEW, {**PLAIN, "_launch": "1"})
    made = Campaign.objects.get()
    Campaign.objects.update(starts_at=timezone.now() - timedelta(days=3), is_active=False)
    its = address(LABEL, "plan", made.pk)

    client.post(its, {**values_of(client.get(its)), "_launch": "1"})

    made.refresh_from_db()
    assert made.is_active
    assert abs(made.starts_at - timezone.now()) < timedelta(minutes=1)


def test_a_replay_saves_it_for_later_and_starts_a_job(client, brand):
    answer = client.post(NEW, {**PLAIN, "_replay": "1"})

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


def test_answers_and_conditions_are_each_other_s_inverse(brand):
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
    foreign_rows = {
        "products": factories.product(other, sku="T", title="Their serum").pk,
        "batches": factories.batch(other, range_name="Their batch").pk,
        "segments": factories.segment(other, name="Their segment").pk,
    }
    cup = factories.reward(other, name="Their cup")
    factories.level(other, "Their level", 50)

    page = text(client.get(NEW))
    assert "Their " not in page
    for name, pk in foreign_rows.items():
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
