"""Rewards of milestones in forms and files: of the same brand alone, and told what is wrong."""

import pytest

from campaigns.models.campaigns import Campaign, Milestone
from config.brand_files import applying, reading, writing
from loyalty.models.rewards import Reward
from tests.support import factories
from tests.support.imports import imported, preview
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


CAMPAIGN = "campaigns.campaign"


def sent_for(client, campaign, **milestone):
    its = address(CAMPAIGN, "change", campaign.pk)
    sent = {name: value for name, value in form_of(client.get(its)).items() if value is not None}
    sent |= {"milestones-TOTAL_FORMS": "1", "milestones-INITIAL_FORMS": "0", "milestones-0-campaign": campaign.pk}
    return client.post(its, {**sent, **{f"milestones-0-{name}": value for name, value in milestone.items()}})


def test_the_form_takes_the_catalogue_s_name(brand, mug):
    campaign = factories.campaign(brand)

    answer = sent_for(browser(staff(brand)), campaign, threshold=2, reward=mug.pk, reward_points=0)

    assert answer.status_code == 302
    made = Milestone.objects.get()
    assert (made.reward, made.reward_name) == (mug, "Enamel mug")


@pytest.mark.parametrize(
    ("fields", "expected_text"),
    [
        ({"reward_points": 0}, "Name what it gives, or choose a reward of the catalogue."),
        ({"reward_points": 5, "reward": True}, "Enter 0: it gives the reward of the catalogue, and no points."),
    ],
)
def test_the_form_says_what_to_fix(brand, mug, fields, expected_text):
    fields = {**fields, "reward": mug.pk} if "reward" in fields else fields

    answer = sent_for(browser(staff(brand)), factories.campaign(brand), threshold=2, **fields)

    assert answer.status_code == 200
    assert expected_text in text(answer)
    assert not Milestone.objects.exists()


def test_the_form_offers_and_takes_rewards_of_the_same_brand_alone(brand, mug):
    other = factories.brand()
    foreign_reward = factories.reward(other, name="Their cup")
    of_one, of_both = browser(staff(brand)), browser(staff(brand, other))
    campaign = factories.campaign(brand)

    assert "Their cup" not in text(of_one.get(address(CAMPAIGN, "change", campaign.pk)))
    refused = sent_for(of_one, campaign, threshold=2, reward=foreign_reward.pk, reward_points=0)
    assert "Select a valid choice" in text(refused)
    assert "Choose one of the same brand." in text(
        sent_for(of_both, campaign, threshold=2, reward=foreign_reward.pk, reward_points=0)
    )
    assert not Milestone.objects.exists()


def test_a_reward_that_a_milestone_gives_cannot_be_deleted(brand, milestone, mug):
    client = browser(staff(brand))

    client.post(address("loyalty.reward", "delete", mug.pk), {"post": "yes"})

    assert Reward.objects.filter(pk=mug.pk).exists()
    assert "Scan and win, at 1" in text(client.get(address("loyalty.reward", "change", mug.pk)))


def test_the_reward_s_page_takes_an_empty_cost(brand, mug):
    client, its = browser(staff(brand)), address("loyalty.reward", "change", mug.pk)
    sent = {name: value for name, value in form_of(client.get(its)).items() if value is not None}

    assert client.post(its, {**sent, "cost": "0"}).status_code == 200
    assert client.post(its, {**sent, "cost": "", "name": "Cup"}).status_code == 302
    assert (Reward.objects.get().cost, Reward.objects.get().name) == (None, "Cup")
    assert "only won" in text(client.get(address("loyalty.reward")))


# --- Files, brand files and the brand's API


def test_files_name_the_catalogue_s_reward(brand, mug):
    owner = staff(brand)
    columns = "name,target_value,milestone_1_threshold,milestone_1_catalogue_reward,milestone_1_points"

    imported(owner, CAMPAIGN, brand, f"{columns}\nTen,10,5,Enamel mug,0\n")

    made = Milestone.objects.get()
    assert (made.reward, made.reward_name) == (mug, "Enamel mug")
    again = text(preview(owner, CAMPAIGN, brand, f"{columns}\nTen,10,5,Enamel mug,0\n"))
    assert "Nothing would change" in again or "unchanged" in again.lower()


@pytest.mark.parametrize(
    ("row", "expected_text"),
    [
        ("5,Their cup,0", "There is no “Their cup” in this brand."),
        ("5,Enamel mug,3", "Enter 0: it gives the reward of the catalogue, and no points."),
    ],
)
def test_files_are_told_what_is_wrong_with_a_reward(brand, mug, row, expected_text):
    factories.reward(factories.brand(), name="Their cup")
    columns = "name,target_value,milestone_1_threshold,milestone_1_catalogue_reward,milestone_1_points"

    answer = preview(staff(brand), CAMPAIGN, brand, f"{columns}\nTen,10,{row}\n")

    assert expected_text in text(answer)


def test_a_brand_file_takes_the_catalogue_along(brand, milestone):
    other = factories.brand()
    file = reading.read(writing.write(brand).encode())

    applying.apply(other, file, reason="A test")

    copied = Milestone.objects.get(campaign__brand=other)
    assert copied.reward == Reward.objects.get(brand=other)
    assert (copied.reward.cost, copied.reward_name) == (None, "Enamel mug")
    assert [step for step in applying.plan(other, file) if step.changes] == []


def test_a_brand_file_finds_rewards_of_its_own_brand_alone(brand):
    factories.reward(factories.brand(), name="Nope")
    milestone = b"{threshold: 5, reward: Nope}"
    file = b"format: 1\ncampaigns:\n- campaign_name: A\n  target_value: 5\n  milestones: [" + milestone + b"]\n"

    with pytest.raises(reading.BrandFileError, match="There is no reward “Nope”"):
        applying.apply(brand, reading.read(file), reason="A test")

    assert not Campaign.objects.exists()
