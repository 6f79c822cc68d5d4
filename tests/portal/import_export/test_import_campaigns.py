"""Imports of campaigns with their milestones."""

import pytest

from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import Campaign, Milestone, RewardClaim
from portal.import_export import tables
from tests.portal.import_export.conftest import CAMPAIGN
from tests.support import factories
from tests.support.imports import confirm, import_file, line_errors, preview, problem, ticket_of, upload

pytestmark = pytest.mark.usefixtures("media")


@pytest.fixture
def brand(db):
    return factories.brand(time_zone="Asia/Kolkata")


# --- Campaigns

HEADER = "name,target_value,milestone_1_threshold,milestone_1_reward,milestone_2_threshold,milestone_2_reward\n"


def milestones(brand):
    rows = Milestone.objects.filter(campaign__brand=brand).order_by("threshold")
    return [(milestone.threshold, milestone.reward_name) for milestone in rows]


def test_import_adds_changes_and_deletes_milestones(brand, owner):
    campaign = factories.campaign(brand, campaign_name="Old", target_value=10)
    unchanged_milestone = factories.milestone(campaign, 5, reward_name="Kept", reward_points=3)
    factories.milestone(campaign, 7, reward_name="Gone")

    page = preview(owner, CAMPAIGN, brand, HEADER + "Old,10,10,Goal,5,Better\nNew,4,4,All,,\n")
    assert page.context_data["rows"][0].changes == {
        "milestone at 10": ("", "reward: Goal; points: 0; auto_claim: yes"),
        "milestone at 5": ("reward: Kept; points: 3; auto_claim: yes", "reward: Better; points: 3; auto_claim: yes"),
        "milestone at 7": ("reward: Gone; points: 0; auto_claim: yes", ""),
    }
    confirm(owner, CAMPAIGN, ticket_of(page))

    assert milestones(brand) == [(4, "All"), (5, "Better"), (10, "Goal")]
    assert Milestone.objects.get(threshold=5).pk == unchanged_milestone.pk
    changes = AuditLogEntry.objects.get(kind=CAMPAIGN, row_id=str(campaign.pk)).changes
    assert changes["milestone at 7"] == ["reward: Gone; points: 0; auto_claim: yes", None]


def test_milestones_stay_when_the_file_has_no_milestone_columns(brand, owner):
    factories.milestone(factories.campaign(brand, campaign_name="Old", target_value=10), 5, reward_name="Kept")

    assert import_file(owner, CAMPAIGN, brand, "name,target_value\nOld,6\n").status_code == 302
    assert milestones(brand) == [(5, "Kept")]
    page = preview(owner, CAMPAIGN, brand, "name,target_value\nOld,4\n")
    assert line_errors(page) == {
        2: "target_value: Progress stops at the goal of 4. Enter 4 or less, or raise the goal.",
    }


def test_milestones_are_validated_as_on_the_page(brand, owner, customer):
    campaign = factories.campaign(brand, campaign_name="Given", target_value=10)
    RewardClaim.objects.create(milestone=factories.milestone(campaign, 5, reward_name="Held"), user=customer)
    header = HEADER.strip() + ",milestone_2_points,milestone_3_reward\n"
    rows = [
        "Given,10,,,,,,",
        "A,10,11,Far,,,,",
        f"B,10,5,Dear,6,Dear,{brand.max_points_per_scan + 1},",
        "C,10,5,One,5,Two,0,",
        "D,10,5,,,,,",
        "E,10,0,Zero,,,,",
        "F,10,,,,,,Stray",
    ]

    messages = line_errors(preview(owner, CAMPAIGN, brand, header + "\n".join(rows) + "\n"))

    assert [messages[line].split(".")[0] for line in range(2, 9)] == [
        "Rewards of this campaign were given: none of its milestones can be left out",
        "milestone_1_threshold: Progress stops at the goal of 10",
        "milestone_2_points: At most " + f"{brand.max_points_per_scan:,} points; ask the operator to raise the ceiling",
        "milestone_2_threshold: Two milestones have this threshold",
        "milestone_1_reward: This field is required",
        "milestone_1_threshold: Ensure this value is greater than or equal to 1",
        "milestone_3_reward: The column of this milestone's threshold is missing",
    ]
    assert Campaign.objects.get().campaign_name == "Given"


def test_file_with_too_many_milestones_is_rejected(brand, owner):
    titles = ",".join(f"milestone_{number}_threshold" for number in range(1, 201))
    row = ",".join(map(str, range(1, 201)))
    file = f"name,target_value,{titles}\n" + "".join(f"C{number},200,{row}\n" for number in range(11))

    assert "more than 2,000 milestones" in problem(upload(owner, CAMPAIGN, brand, file))
    assert not Campaign.objects.exists()


def test_file_too_large_to_be_checked_at_once_is_rejected_by_its_size(brand, owner, monkeypatch):
    monkeypatch.setattr(tables, "MAX_BYTES", 1_000_000)

    rejected = upload(owner, CAMPAIGN, brand, "name,target_value\n" + f"{' ' * 9_000},1\n" * 112)

    assert rejected.status_code == 400
    assert problem(rejected) == "The file is larger than 1 MB. Split it into smaller files."
