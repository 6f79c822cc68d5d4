"""Replays as jobs: what comes of them, who cancels them, and how long they are kept."""

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
    made = factories.brand()
    factories.level(made, value=1)
    return made


@pytest.fixture
def made(brand):
    """A replay that waits, of three scans."""
    customer = factories.customer(brand)
    for _time in range(3):
        scan(brand, customer)
    return start(rule(brand, "scan-auth", 5, "bonus", state="draft"))


def start(tried, days=30):
    return jobs.start(
        brand=tried.brand, draft=drafts.of_rule(tried), days=days, by=staff(tried.brand), at=timezone.now()
    )


def test_a_job_keeps_what_it_found(made):
    runner.run(made.job_id)

    made.refresh_from_db()
    made.job.refresh_from_db()
    assert (made.job.status, made.job.done, made.result["actions"]) == ("done", 3, 3)
    assert (made.result["differences"], made.finished_at is not None) == (0, True)
    assert [float(number) for number in made.result["days"][0][1:3]] == [3, 18]
    assert made.until - made.since > timedelta(days=29)


def test_a_replay_that_is_cancelled_keeps_nothing(made, monkeypatch):
    pages = replay.actions.pages

    def cancelled(*arguments, **options):
        queue.cancel(job=Job.objects.get(pk=made.job_id))
        return pages(*arguments, **options)

    monkeypatch.setattr(replay.actions, "pages", cancelled)
    runner.run(made.job_id)

    made.refresh_from_db()
    assert (Job.objects.get(pk=made.job_id).status, made.result) == ("cancelled", None)


def test_of_two_attempts_the_one_that_was_overtaken_writes_nothing(made, monkeypatch):
    decided = replay.replay

    def overtaken(**arguments):
        result = decided(**arguments)
        Job.objects.filter(pk=made.job_id).update(attempts=2)
        return result

    monkeypatch.setattr(jobs, "replay", overtaken)
    runner.run(made.job_id)

    made.refresh_from_db()
    assert (made.result, Job.objects.get(pk=made.job_id).status) == (None, "running")


def test_a_replay_of_a_rule_that_was_deleted_fails_with_a_reason(made):
    made.rule.delete()

    runner.run(made.job_id)

    job = Job.objects.get(pk=made.job_id)
    assert (job.status, "The draft of this replay was deleted." in job.log) == ("failed", True)


@pytest.mark.parametrize("days", [0, -1, 91, 10**9])
def test_a_period_that_is_not_kept_is_refused(brand, days):
    with pytest.raises(Invalid, match="1 to 90"):
        start(rule(brand, state="draft"), days=days)
    assert not Replay.objects.exists()


def test_a_rule_that_cannot_be_read_is_refused(brand):
    broken = rule(brand, state="draft")
    broken.conditions = {"all": [{"field": "nonsense", "operator": "in", "value": [1]}]}

    with pytest.raises(Invalid, match="nonsense"):
        start(broken)


def test_replays_are_deleted_when_they_expire(made):
    assert jobs.purge(at=timezone.now()) == 0
    assert jobs.purge(at=timezone.now() + jobs.RETENTION) == 1
    assert not Replay.objects.exists()


def test_terms_are_kept_whichever_way_they_change(brand):
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


def test_a_brand_that_is_deleted_takes_its_terms_along(transactional_db):
    made = factories.brand()
    factories.level(made)
    number = made.pk
    made.delete()

    assert not EarningTerms.objects.filter(brand=number).exists()
