"""Rewards of milestones in forms and files: only those of the same brand, with messages about errors."""

import pytest

from campaigns.models.campaigns import Campaign, Milestone
from config.brand_files import applying, reading, writing
from loyalty.models.rewards import Reward
from tests.support import factories
from tests.support.imports import counts, import_file, preview
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


CAMPAIGN = "campaigns.campaign"


def save_milestone(client, campaign, **milestone):
    url = address(CAMPAIGN, "change", campaign.pk)
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}
    data |= {"milestones-TOTAL_FORMS": "1", "milestones-INITIAL_FORMS": "0", "milestones-0-campaign": campaign.pk}
    return client.post(url, {**data, **{f"milestones-0-{name}": value for name, value in milestone.items()}})


def test_form_copies_the_name_from_the_catalogue(brand, mug):
    campaign = factories.campaign(brand)

    answer = save_milestone(browser(staff(brand)), campaign, threshold=2, reward=mug.pk, reward_points=0)

    assert answer.status_code == 302
    saved_milestone = Milestone.objects.get()
    assert (saved_milestone.reward, saved_milestone.reward_name) == (mug, "Enamel mug")


@pytest.mark.parametrize(
    ("fields", "expected_text"),
    [
        ({"reward_points": 0}, "Name what it gives, or choose a reward of the catalogue."),
        ({"reward_points": 5, "reward": True}, "Enter 0: it gives the reward of the catalogue, and no points."),
    ],
)
def test_form_explains_invalid_rewards(brand, mug, fields, expected_text):
    fields = {**fields, "reward": mug.pk} if "reward" in fields else fields

    answer = save_milestone(browser(staff(brand)), factories.campaign(brand), threshold=2, **fields)

    assert answer.status_code == 200
    assert expected_text in text(answer)
    assert not Milestone.objects.exists()


def test_form_accepts_only_rewards_of_the_same_brand(brand, mug):
    other = factories.brand()
    foreign_reward = factories.reward(other, name="Their cup")
    client_of_one_brand, client_of_both_brands = browser(staff(brand)), browser(staff(brand, other))
    campaign = factories.campaign(brand)

    assert "Their cup" not in text(client_of_one_brand.get(address(CAMPAIGN, "change", campaign.pk)))
    rejected = save_milestone(client_of_one_brand, campaign, threshold=2, reward=foreign_reward.pk, reward_points=0)
    assert "Select a valid choice" in text(rejected)
    assert "Choose one of the same brand." in text(
        save_milestone(client_of_both_brands, campaign, threshold=2, reward=foreign_reward.pk, reward_points=0)
    )
    assert not Milestone.objects.exists()


def test_reward_of_a_milestone_cannot_be_deleted(brand, milestone, mug):
    client = browser(staff(brand))

    client.post(address("loyalty.reward", "delete", mug.pk), {"post": "yes"})

    assert Reward.objects.filter(pk=mug.pk).exists()
    assert "Scan and win, at 1" in text(client.get(address("loyalty.reward", "change", mug.pk)))


def test_reward_form_accepts_an_empty_cost(brand, mug):
    client, url = browser(staff(brand)), address("loyalty.reward", "change", mug.pk)
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}

    assert client.post(url, {**data, "cost": "0"}).status_code == 200
    assert client.post(url, {**data, "cost": "", "name": "Cup"}).status_code == 302
    assert (Reward.objects.get().cost, Reward.objects.get().name) == (None, "Cup")
    assert "only won" in text(client.get(address("loyalty.reward")))


# --- Files, brand files and the brand's API


def test_import_links_the_reward_by_name(brand, mug):
    owner = staff(brand)
    columns = "name,target_value,milestone_1_threshold,milestone_1_catalogue_reward,milestone_1_points"

    import_file(owner, CAMPAIGN, brand, f"{columns}\nTen,10,5,Enamel mug,0\n")

    saved_milestone = Milestone.objects.get()
    assert (saved_milestone.reward, saved_milestone.reward_name) == (mug, "Enamel mug")
    again = preview(owner, CAMPAIGN, brand, f"{columns}\nTen,10,5,Enamel mug,0\n")
    assert counts(again) == {"Unchanged": 1}


@pytest.mark.parametrize(
    ("row", "expected_text"),
    [
        ("5,Their cup,0", "There is no “Their cup” in this brand."),
        ("5,Enamel mug,3", "Enter 0: it gives the reward of the catalogue, and no points."),
    ],
)
def test_import_reports_invalid_rewards(brand, mug, row, expected_text):
    factories.reward(factories.brand(), name="Their cup")
    columns = "name,target_value,milestone_1_threshold,milestone_1_catalogue_reward,milestone_1_points"

    answer = preview(staff(brand), CAMPAIGN, brand, f"{columns}\nTen,10,{row}\n")

    assert expected_text in text(answer)


@pytest.mark.django_db(transaction=True)
def test_brand_file_includes_the_catalogue(brand, milestone):
    other = factories.brand()
    file = reading.read(writing.write(brand).encode())

    applying.apply(other, file, reason="A test")

    copied = Milestone.objects.get(campaign__brand=other)
    assert copied.reward == Reward.objects.get(brand=other)
    assert (copied.reward.cost, copied.reward_name) == (None, "Enamel mug")
    assert [step for step in applying.plan(other, file) if step.changes] == []


def test_brand_file_resolves_only_rewards_of_its_own_brand(brand):
    factories.reward(factories.brand(), name="Nope")
    milestone = b"{threshold: 5, reward: Nope}"
    file = b"format: 1\ncampaigns:\n- campaign_name: A\n  target_value: 5\n  milestones: [" + milestone + b"]\n"

    with pytest.raises(reading.BrandFileError, match="There is no reward “Nope”"):
        applying.apply(brand, reading.read(file), reason="A test")

    assert not Campaign.objects.exists()
