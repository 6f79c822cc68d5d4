"""The page of a campaign: figures by role, time and cost, and pausing, resuming and ending it."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.quotas import BrandQuota
from brands.models.undo_offers import UndoOffer
from campaigns.admin import campaign_form
from campaigns.admin.campaign_page import bars
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from campaigns.models.replays import Replay
from campaigns.progress import results, saved_results
from campaigns.progress.results import DayResults
from jobs import queue
from loyalty.models.programme.costs import PointCost
from loyalty.models.rewards import Redemption
from tests.campaigns.accrual.conftest import report_scan
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
LABEL = "campaigns.campaign"


def page_of(brand, campaign, role="owner"):
    return text(browser(staff(brand, role=role)).get(address(LABEL, "page", campaign.pk)))


@pytest.fixture
def running_campaign(brand, customer):
    """A campaign with two members: one has reached the goal and won points and a mug, the other has begun."""
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    campaign = factories.campaign(brand, target_value=2, budget=100, ends_at=timezone.now() + timedelta(days=10))
    factories.milestone(campaign, 1, reward_points=20)
    factories.milestone(campaign, 2, reward_name="A mug")
    for number, member in enumerate((customer, customer, factories.customer(brand))):
        report_scan(brand, member, sku=f"S{number}", title="S")
    return campaign


def test_list_links_to_the_page_and_the_page_to_the_form(brand):
    campaign = factories.campaign(brand)
    client = browser(staff(brand))

    assert address(LABEL, "page", campaign.pk) in text(client.get(address(LABEL)))
    assert address(LABEL, "change", campaign.pk) in text(client.get(address(LABEL, "page", campaign.pk)))


def test_the_page_shows_members_milestones_cost_and_time(brand, running_campaign):
    page = page_of(brand, running_campaign)

    for expected_text in (
        "Members taking part",
        "1 on their way to the goal",
        "40 of 100 points",
        "0.40 EUR",
        "10 days left",
        "of 1 code for the till",
        "A mug",
        "After that, no one makes progress in it.",
    ):
        assert expected_text in page
    assert page.count('class="campaign-milestone"') == 2


def test_results_count_each_milestone_and_day(brand, customer, running_campaign):
    redemption = Redemption.objects.get()
    Redemption.objects.filter(pk=redemption.pk).update(status="used", used_at=timezone.now())

    campaign_results = results.results_of(running_campaign)

    first, second = (campaign_results.milestones[each.pk] for each in running_campaign.milestones.order_by("threshold"))
    assert (first.claimed, first.points, first.issued) == (2, 40, 0)
    assert (second.claimed, second.issued, second.used) == (1, 1, 1)
    assert (
        campaign_results.participants,
        campaign_results.in_progress,
        campaign_results.used,
        campaign_results.cost,
    ) == (2, 1, 1, Decimal("0.40"))
    [(_day, day)] = campaign_results.days.items()
    assert (day.begun, day.won, day.points) == (2, 3, 40)
    assert results.participants_of(running_campaign) == (2, 1)


@pytest.mark.parametrize(
    ("role", "visible", "hidden"),
    [
        ("manager", ["Members taking part", "Used at the till", "0.40 EUR"], []),
        (
            "support",
            ["Members taking part", "Used at the till", "40 of 100 points"],
            ["0.40 EUR", "Pause campaign", "Edit campaign"],
        ),
        (
            "printer",
            ["10 days left", "no one makes progress"],
            ["Members taking part", "40 of 100", "0.40 EUR", "Pause campaign", "last 30 days"],
        ),
    ],
)
def test_each_role_sees_only_the_figures_it_has_permission_for(brand, running_campaign, role, visible, hidden):
    page = page_of(brand, running_campaign, role)

    assert [phrase for phrase in visible if phrase not in page] == []
    assert [phrase for phrase in hidden if phrase in page] == []


def test_staff_of_another_brand_cannot_view_or_change_the_campaign(brand, running_campaign):
    client = browser(staff(factories.brand()))

    for name in ("page", "pause", "resume", "end", "replay_month", "plan"):
        assert client.post(address(LABEL, name, running_campaign.pk), {"reason": "Mine"}).status_code == 404
    running_campaign.refresh_from_db()
    assert running_campaign.is_active


def test_pausing_and_resuming_explain_their_effects(brand, running_campaign):
    factories.batch(brand, campaign=running_campaign, quantity=3, after_campaign="nothing")
    client, url = browser(staff(brand)), address(LABEL, "pause", running_campaign.pk)

    confirmation = text(client.get(url))
    assert "1 of 2 members who take part have not reached the goal" in confirmation
    assert "scans of 1 batch with 3 codes earn nothing" in confirmation
    assert client.post(url, {"reason": ""}).status_code == 200
    answer = client.post(url, {"reason": "Too dear"})

    assert answer["location"] == address(LABEL, "page", running_campaign.pk)
    running_campaign.refresh_from_db()
    assert not running_campaign.is_active
    entry = AuditLogEntry.objects.filter(row_id=running_campaign.pk, reason="Too dear").get()
    assert entry.changes == {"is_active": [True, False]}
    page = page_of(brand, running_campaign)
    assert "Paused" in page
    assert "Resume campaign" in page
    assert "1 member continues where they left off." in text(client.get(address(LABEL, "resume", running_campaign.pk)))
    client.post(address(LABEL, "resume", running_campaign.pk), {"reason": "Go"})
    running_campaign.refresh_from_db()
    assert running_campaign.is_active


@pytest.mark.parametrize(("action", "was_active"), [("pause", True), ("resume", False)])
def test_undo_restores_the_start_of_the_campaign(brand, action, was_active):
    campaign = factories.campaign(brand, is_active=was_active)
    client = browser(staff(brand))
    client.post(address(LABEL, action, campaign.pk), {"reason": "By mistake"})
    campaign.refresh_from_db()
    assert (campaign.starts_at is not None) == (action == "resume")

    [offer] = UndoOffer.objects.all()
    client.post(reverse("admin:undo", args=[offer.pk]))

    campaign.refresh_from_db()
    assert (campaign.is_active, campaign.starts_at) == (was_active, None)


def test_campaign_paused_before_anyone_takes_part_can_be_resumed(brand):
    campaign = factories.campaign(brand, is_active=False)
    client = browser(staff(brand))
    assert "Not launched" in page_of(brand, campaign)
    for action in ("resume", "pause"):
        client.post(address(LABEL, action, campaign.pk), {"reason": "Tried"})

    page, listed = page_of(brand, campaign), text(client.get(address(LABEL)))

    assert [phrase for phrase in ("Paused", "Resume campaign") if phrase not in page] == []
    assert "Continue in the wizard" not in page
    assert "Paused" in listed
    assert "Not launched" not in page + listed


def test_ending_takes_effect_now_and_cannot_be_repeated(brand, running_campaign):
    client, url = browser(staff(brand)), address(LABEL, "end", running_campaign.pk)

    assert client.post(url, {"reason": "Over"}).status_code == 302

    running_campaign.refresh_from_db()
    assert running_campaign.ends_at <= timezone.now()
    assert "ended today" in page_of(brand, running_campaign)
    again = client.post(url, {"reason": "Over"})
    assert "Somebody has changed the campaign" in text(again)
    assert "End campaign now" not in page_of(brand, running_campaign)


def test_resuming_beyond_the_limit_of_running_campaigns_is_rejected(brand, running_campaign, monkeypatch):
    monkeypatch.setattr(campaign_form, "MAX_RUNNING", 1)
    paused = factories.campaign(brand, is_active=False)

    answer = browser(staff(brand)).post(address(LABEL, "resume", paused.pk), {"reason": "Go"})

    assert "At most 1 campaigns of a type can be active at once" in text(answer)
    paused.refresh_from_db()
    assert not paused.is_active


def test_one_click_starts_a_replay_of_past_days(brand, running_campaign):
    client = browser(staff(brand))
    url = address(LABEL, "replay_month", running_campaign.pk)
    assert client.get(url).status_code == 405

    client.post(url)

    new_replay = Replay.objects.get()
    assert (new_replay.campaign, new_replay.created_by.email != "") == (running_campaign, True)
    assert "data-job" in text(client.get(address(LABEL, "page", running_campaign.pk)))
    rejected = client.post(url, follow=True)
    assert "Another replay is running." in text(rejected)


def test_replay_that_the_quota_rejects_leaves_nothing_behind(brand, running_campaign):
    BrandQuota.objects.create(brand=brand, resource=BrandQuota.Resource.JOBS, limit=1)
    queue.start(brand=brand, kind="send-broadcast", title="Job", parameters={}, by=None)

    browser(staff(brand)).post(address(LABEL, "replay_month", running_campaign.pk))

    assert not Replay.objects.exists()


@pytest.mark.parametrize(("differences", "warning"), [(0, ""), (3, "Check against the ledger: 3 differences")])
def test_page_shows_the_cost_and_reliability_of_the_last_replay(brand, running_campaign, differences, warning):
    milestone = {"id": 0, "points": "1020", "things": 0}
    campaign = {"participants": 38, "finishers": 34, "milestones": [milestone]}
    until = timezone.now()
    Replay.objects.create(
        brand=brand,
        kind=Replay.Kind.CAMPAIGN,
        campaign=running_campaign,
        name="Collect",
        content={},
        since=until - timedelta(days=30),
        until=until,
        expires_at=until + timedelta(days=1),
        finished_at=until,
        result={"differences": differences, "campaign": campaign},
    )

    page = page_of(brand, running_campaign)

    assert "34 reached the goal, for 1,020 points (10.20 EUR) and 0 rewards." in page
    assert ("so the figures are less reliable" in page) == bool(warning)
    assert warning in page


@pytest.mark.parametrize(
    ("fields", "expected_text"),
    [
        ({"starts_at": timedelta(days=3)}, "begins in 3 days"),
        ({"ends_at": timedelta(seconds=1)}, "ends today"),
        ({"starts_at": timedelta(days=-9), "ends_at": timedelta(days=-2)}, "ended 2 days ago"),
        ({}, "runs until somebody ends it"),
    ],
)
def test_page_shows_when_the_campaign_begins_or_ends(brand, fields, expected_text):
    campaign = factories.campaign(brand, **{name: timezone.now() + each for name, each in fields.items()})

    assert expected_text in page_of(brand, campaign)


@pytest.mark.parametrize(
    ("stock", "expected_text"), [(0, "None left: the reward waits to be claimed"), (3, "3 left"), (None, "")]
)
def test_milestone_shows_the_remaining_stock_of_its_reward(brand, stock, expected_text):
    campaign = factories.campaign(brand, target_value=1)
    factories.milestone(campaign, 1, reward=factories.reward(brand, name="Enamel mug", cost=None, stock=stock))

    page = page_of(brand, campaign)

    assert "Enamel mug" in page
    assert expected_text in page
    assert ("None left" in page) == (stock == 0)


def test_page_of_an_empty_campaign_explains_what_is_missing(brand):
    page = page_of(brand, factories.campaign(brand))

    assert "It has no milestones yet" in page
    assert "Nobody has taken part yet." in page
    assert "no end" in page


def test_slow_results_are_reused_for_a_few_minutes(brand, running_campaign, monkeypatch):
    at = timezone.now()
    monkeypatch.setattr(saved_results, "SLOW_SECONDS", 0)

    counted, first = saved_results.latest(running_campaign, at=at)
    UserLoyaltyCampaign.objects.all().delete()
    again, second = saved_results.latest(running_campaign, at=at + timedelta(seconds=5))

    assert first == at
    assert abs(second - at) < timedelta(seconds=1)
    assert again == counted


def test_bars_sum_the_days_that_share_a_bar():
    first = timezone.now().date() - timedelta(days=99)
    days = {first + timedelta(days=number): DayResults(begun=1, won=2) for number in range(100)}

    chart = bars.chart_of(days, first=first, last=first + timedelta(days=99))

    assert len(chart.boxes) <= 2 * bars.MAX_BARS
    assert sum(int(box.title.rpartition(": ")[2].split(" / ")[0]) for box in chart.boxes if box.kind == "begun") == 100
    assert sum(int(box.title.rpartition(" / ")[2]) for box in chart.boxes if box.kind == "won") == 200
    assert max(float(box.height) for box in chart.boxes if box.kind == "won") == float(chart.height)
    assert {box.height for box in chart.boxes if box.kind == "begun"} <= {"100.0", "50.0", "75.0", "25.0"}


def test_waiting_claim_is_counted_as_to_be_claimed(brand, customer):
    campaign = factories.campaign(brand, target_value=1)
    factories.milestone(campaign, 1, reward_points=20, auto_claim=False)
    report_scan(brand, customer, sku="A", title="A")

    assert "1 to be claimed" in page_of(brand, campaign, "support")
    assert RewardClaim.objects.get().status == "available"
