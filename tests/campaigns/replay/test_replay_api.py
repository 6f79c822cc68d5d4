"""Replays over the API: starting them, and reading them while they run and when they are done."""

from decimal import Decimal
from threading import Barrier

import pytest
from django.db import transaction
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from core.errors import Invalid
from jobs import queue, runner
from jobs.models import Job
from loyalty.points.levels import Level
from tests.campaigns.earning.earning_rules import rule, scan
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import run_concurrently

pytestmark = pytest.mark.django_db
BRONZE = {"name": "Bronze", "threshold": 0, "scan_reward_type": "points", "scan_reward_value": 12}


@pytest.fixture
def hub(api):
    return api.hub()


def start_replay(hub, **body):
    return hub.post("brand/replays", {"days": 7, **body})


def finish_replay(response):
    replay = Replay.objects.get(pk=response.json()["data"]["id"])
    runner.run(replay.job_id)
    return replay.pk


@pytest.mark.django_db(transaction=True)
def test_rule_can_be_replayed(hub, brand, customer):
    scan(brand, customer)
    draft = rule(brand, "scan-auth", 5, "bonus", name="Five more", state="draft")

    response = start_replay(hub, rule=draft.pk)

    assert response.status_code == 201
    data = response.json()["data"]
    assert (data["kind"], data["name"], data["rule_id"], data["state"]) == ("rule", "Five more", draft.pk, "queued")
    replay_id = finish_replay(response)
    data = hub.get(f"brand/replays/{replay_id}").json()["data"]
    assert (data["state"], data["result"]["differences"], data["result"]["gainers"]) == ("done", 0, 1)
    [day] = data["result"]["days"]
    assert day["points_tried"] - day["points_paid"] == 5
    account = factories.account(customer, brand).pk
    assert [each["member_id"] for each in data["result"]["most"]] == [account]
    assert AuditLogEntry.objects.filter(kind="campaigns.replay", action="Replayed past actions").exists()


@pytest.mark.django_db(transaction=True)
def test_levels_and_a_campaign_can_be_replayed(hub, brand, customer):
    scan(brand, customer)
    campaign = factories.campaign(brand, is_active=False)
    milestone = factories.milestone(campaign, 1, reward_points=9)

    levels_replay = finish_replay(start_replay(hub, levels=[BRONZE]))
    campaign_replay = finish_replay(start_replay(hub, campaign=campaign.pk))

    result = hub.get(f"brand/replays/{levels_replay}").json()["data"]["result"]
    assert (result["days"][0]["points_tried"], result["campaign"]) == (12, None)
    result = hub.get(f"brand/replays/{campaign_replay}").json()["data"]["result"]
    [row] = result["campaign"]["milestones"]
    assert (row["id"], row["reached"], row["points"], row["actual_rewards"]) == (milestone.pk, 1, 9, 0)
    listed = hub.get("brand/replays", kind="levels").json()["data"]
    assert [each["id"] for each in listed] == [levels_replay]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "rule"),
        ({"rule": 1, "levels": [BRONZE]}, "rule"),
        ({"levels": []}, "levels"),
        ({"levels": [BRONZE, {**BRONZE, "threshold": 5}]}, "levels"),
        ({"levels": [BRONZE], "days": 0}, "days"),
        ({"levels": [BRONZE], "days": 10**9}, "days"),
        ({"levels": [{**BRONZE, "threshold": -1}]}, None),
        ({"levels": [{**BRONZE, "scan_reward_type": "gold"}]}, None),
    ],
)
def test_invalid_replay_request_is_rejected_at_its_field(hub, body, field):
    response = start_replay(hub, **body)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert response.json()["details"].get("field") == field
    assert not Replay.objects.exists()


def test_rows_of_another_brand_are_not_found(hub, brand):
    other = factories.brand()
    foreign_replay = factories.replay(other)
    campaign = factories.campaign(other)
    factories.milestone(campaign, 1)

    assert error(start_replay(hub, rule=rule(other, state="draft").pk)) == (404, "NOT_FOUND")
    assert error(start_replay(hub, campaign=campaign.pk)) == (404, "NOT_FOUND")
    own = factories.campaign(brand)
    factories.milestone(own, 1)
    assert error(start_replay(hub, campaign=own.pk, instead_of=campaign.pk)) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/replays/{foreign_replay.pk}")) == (404, "NOT_FOUND")
    assert hub.get("brand/replays").json()["data"] == []


@pytest.mark.django_db(transaction=True)
def test_only_one_replay_runs_at_a_time(hub, brand):
    assert start_replay(hub, levels=[BRONZE]).status_code == 201

    rejected = start_replay(hub, levels=[BRONZE])

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert "Another replay is running" in rejected.json()["message"]
    job = Job.objects.get()
    runner.run(job.pk)
    assert start_replay(hub, levels=[BRONZE]).status_code == 201


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_only_one_of_two_concurrent_replays_starts(monkeypatch, is_guarded):
    """Without the lock, as a control, both start, because each checks before the other has written."""
    brand = factories.brand()
    draft = drafts.of_levels(brand, [Level("Bronze", Decimal(0), "points", Decimal(1))])
    if not is_guarded:
        both_checked, start_job = Barrier(2), queue.start

        def start_after_both_checked(**arguments):
            both_checked.wait(timeout=30)
            return start_job(**arguments)

        monkeypatch.setattr(jobs, "lock_start", lambda _brand_id: None)
        monkeypatch.setattr(queue, "start", start_after_both_checked)

    def start(_number):
        with transaction.atomic():
            jobs.start(brand=brand, draft=draft, days=1, by=None, at=timezone.now())

    results = run_concurrently(start, range(2))

    assert Replay.objects.count() == (1 if is_guarded else 2)
    assert [type(each) for each in results if each is not None] == ([Invalid] if is_guarded else [])
