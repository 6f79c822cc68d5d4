"""Replays over the API: started by a hub or by staff, read while they run and when they are done."""

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
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db
BRONZE = {"name": "Bronze", "threshold": 0, "scan_reward_type": "points", "scan_reward_value": 12}


@pytest.fixture
def hub(api):
    return api.hub()


def started(hub, **body):
    return hub.post("brand/replays", {"days": 7, **body})


def finished(response):
    made = Replay.objects.get(pk=response.json()["data"]["id"])
    runner.run(made.job_id)
    return made.pk


@pytest.mark.django_db(transaction=True)
def test_a_rule_is_tried(hub, brand, customer):
    scan(brand, customer)
    draft = rule(brand, "scan-auth", 5, "bonus", name="Five more", state="draft")

    response = started(hub, rule=draft.pk)

    assert response.status_code == 201
    data = response.json()["data"]
    assert (data["kind"], data["name"], data["rule_id"], data["state"]) == ("rule", "Five more", draft.pk, "queued")
    number = finished(response)
    data = hub.get(f"brand/replays/{number}").json()["data"]
    assert (data["state"], data["result"]["differences"], data["result"]["gainers"]) == ("done", 0, 1)
    [day] = data["result"]["days"]
    assert day["points_tried"] - day["points_paid"] == 5
    account = factories.account(customer, brand).pk
    assert [each["member_id"] for each in data["result"]["most"]] == [account]
    assert AuditLogEntry.objects.filter(kind="campaigns.replay", action="Replayed past actions").exists()


@pytest.mark.django_db(transaction=True)
def test_levels_and_a_campaign_are_tried(hub, brand, customer):
    scan(brand, customer)
    campaign = factories.campaign(brand, is_active=False)
    milestone = factories.milestone(campaign, 1, reward_points=9)

    levels = finished(started(hub, levels=[BRONZE]))
    tried = finished(started(hub, campaign=campaign.pk))

    result = hub.get(f"brand/replays/{levels}").json()["data"]["result"]
    assert (result["days"][0]["points_tried"], result["campaign"]) == (12, None)
    result = hub.get(f"brand/replays/{tried}").json()["data"]["result"]
    [row] = result["campaign"]["milestones"]
    assert (row["id"], row["reached"], row["points"], row["actual_rewards"]) == (milestone.pk, 1, 9, 0)
    listed = hub.get("brand/replays", kind="levels").json()["data"]
    assert [each["id"] for each in listed] == [levels]


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
def test_what_cannot_be_tried_is_refused_at_its_field(hub, body, field):
    response = started(hub, **body)

    assert error(response) == (400, "VALIDATION_ERROR")
    assert response.json()["details"].get("field") == field
    assert not Replay.objects.exists()


def test_rows_of_another_brand_are_none(hub, brand):
    other = factories.brand()
    foreign_replay = factories.replay(other)
    campaign = factories.campaign(other)
    factories.milestone(campaign, 1)

    assert error(started(hub, rule=rule(other, state="draft").pk)) == (404, "NOT_FOUND")
    assert error(started(hub, campaign=campaign.pk)) == (404, "NOT_FOUND")
    own = factories.campaign(brand)
    factories.milestone(own, 1)
    assert error(started(hub, campaign=own.pk, instead_of=campaign.pk)) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/replays/{foreign_replay.pk}")) == (404, "NOT_FOUND")
    assert hub.get("brand/replays").json()["data"] == []


@pytest.mark.django_db(transaction=True)
def test_one_is_tried_at_a_time(hub, brand):
    assert started(hub, levels=[BRONZE]).status_code == 201

    refused = started(hub, levels=[BRONZE])

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert "Another replay is running" in refused.json()["message"]
    finished_job = Job.objects.get()
    runner.run(finished_job.pk)
    assert started(hub, levels=[BRONZE]).status_code == 201


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_of_two_who_start_at_once_one_does(monkeypatch, is_guarded):
    """Without their turns, the control, both do: each looks before the other has written."""
    brand = factories.brand()
    draft = drafts.of_levels(brand, [Level("Bronze", Decimal(0), "points", Decimal(1))])
    if not is_guarded:
        both_looked, start_job = Barrier(2), queue.start

        def started_late(**arguments):
            both_looked.wait(timeout=30)
            return start_job(**arguments)

        monkeypatch.setattr(jobs, "take_turn", lambda _brand_id: None)
        monkeypatch.setattr(queue, "start", started_late)

    def start(_number):
        with transaction.atomic():
            jobs.start(brand=brand, draft=draft, days=1, by=None, at=timezone.now())

    results = at_once(start, range(2))

    assert Replay.objects.count() == (1 if is_guarded else 2)
    assert [type(each) for each in results if each is not None] == ([Invalid] if is_guarded else [])
