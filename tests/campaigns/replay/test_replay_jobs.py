"""Replays as jobs: their results, cancellation, failures and retention."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models.replays import EarningTerms, Replay
from campaigns.replay import drafts, jobs, replay
from campaigns.replay.terms import TermsHistory
from core.errors import Invalid
from jobs import queue, runner
from jobs.models import Job
from tests.campaigns.earning.earning_rules import rule, scan
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand, value=1)
    return new_brand


@pytest.fixture
def queued_replay(brand):
    """A queued replay of three scans."""
    customer = factories.customer(brand)
    for _time in range(3):
        scan(brand, customer)
    return start_replay(rule(brand, "scan-auth", 5, "bonus", state="draft"))


def start_replay(draft_rule, days=30):
    return jobs.start(
        brand=draft_rule.brand,
        draft=drafts.of_rule(draft_rule),
        days=days,
        by=staff(draft_rule.brand),
        at=timezone.now(),
    )


def test_job_stores_its_result(queued_replay):
    runner.run(queued_replay.job_id)

    queued_replay.refresh_from_db()
    queued_replay.job.refresh_from_db()
    assert (queued_replay.job.status, queued_replay.job.done, queued_replay.result["actions"]) == ("done", 3, 3)
    assert (queued_replay.result["differences"], queued_replay.finished_at is not None) == (0, True)
    assert [float(number) for number in queued_replay.result["days"][0][1:3]] == [3, 18]
    assert queued_replay.until - queued_replay.since > timedelta(days=29)


def test_cancelled_replay_stores_no_result(queued_replay, monkeypatch):
    pages = replay.actions.pages

    def cancel_then_read(*arguments, **options):
        queue.cancel(job=Job.objects.get(pk=queued_replay.job_id))
        return pages(*arguments, **options)

    monkeypatch.setattr(replay.actions, "pages", cancel_then_read)
    runner.run(queued_replay.job_id)

    queued_replay.refresh_from_db()
    assert (Job.objects.get(pk=queued_replay.job_id).status, queued_replay.result) == ("cancelled", None)


def test_superseded_attempt_stores_no_result(queued_replay, monkeypatch):
    original_replay = replay.replay

    def replay_then_supersede(**arguments):
        result = original_replay(**arguments)
        Job.objects.filter(pk=queued_replay.job_id).update(attempts=2)
        return result

    monkeypatch.setattr(jobs, "replay", replay_then_supersede)
    runner.run(queued_replay.job_id)

    queued_replay.refresh_from_db()
    assert (queued_replay.result, Job.objects.get(pk=queued_replay.job_id).status) == (None, "running")


def test_replay_of_a_deleted_rule_fails_with_a_reason(queued_replay):
    queued_replay.rule.delete()

    runner.run(queued_replay.job_id)

    job = Job.objects.get(pk=queued_replay.job_id)
    assert (job.status, "The draft of this replay was deleted." in job.log) == ("failed", True)


@pytest.mark.parametrize("days", [0, -1, 91, 10**9])
def test_period_outside_the_retention_is_rejected(brand, days):
    with pytest.raises(Invalid, match="1 to 90"):
        start_replay(rule(brand, state="draft"), days=days)
    assert not Replay.objects.exists()


def test_unreadable_rule_is_rejected(brand):
    broken = rule(brand, state="draft")
    broken.conditions = {"all": [{"field": "nonsense", "operator": "in", "value": [1]}]}

    with pytest.raises(Invalid, match="nonsense"):
        start_replay(broken)


def test_expired_replays_are_purged(queued_replay):
    assert jobs.purge(at=timezone.now()) == 0
    assert jobs.purge(at=timezone.now() + jobs.RETENTION) == 1
    assert not Replay.objects.exists()


def test_every_change_of_earning_terms_is_recorded(brand):
    first = EarningTerms.objects.filter(brand=brand).latest("valid_from", "pk")
    brand.name = "Another name"
    brand.save()
    assert EarningTerms.objects.filter(brand=brand).latest("valid_from", "pk") == first
    before = timezone.now()
    brand.levels.update(scan_reward_value=8)
    type(brand).objects.filter(pk=brand.pk).update(daily_point_limit=9)

    history = TermsHistory.of(brand.pk)
    assert [level.scan_reward_value for level in history.at(before).levels] == [1]
    assert (history.at(timezone.now()).daily, history.at(before).daily) == (9, None)
    assert history.at(timezone.now()).levels[0].scan_reward_value == 8
    brand.levels.all().delete()
    assert TermsHistory.of(brand.pk).at(timezone.now()).levels == ()


def test_deleting_a_brand_deletes_its_earning_terms(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand)
    brand_id = new_brand.pk
    new_brand.delete()

    assert not EarningTerms.objects.filter(brand=brand_id).exists()
