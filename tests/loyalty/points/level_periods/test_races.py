"""Accruals concurrent with the end of a level, on parallel connections; with a control that shows the race."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.scanning import consistency
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from campaigns.accrual import write
from campaigns.accrual.write import Parts
from events import worker
from events.models import Event
from loyalty.models.levels import LevelChange
from loyalty.points.level_periods import run, settle
from tests.loyalty.points.level_periods.conftest import Programme
from tests.loyalty.points.level_periods.test_accruals import start_of_period
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.statements import with_replacements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def programme(transactional_db):
    programme = Programme(level_period="quarter")
    programme.night(timezone.now() - timedelta(days=900))
    return programme


def member_with_ending_level(programme):
    """A member whose Silver level is due to end, with 95 points in the new period."""
    member = programme.member()
    programme.earn(member, 100, start_of_period(programme.brand, 3))
    factories.points(member.user, programme.brand, 95, at=timezone.now())
    return member


def scan(programme, member):
    """Record a scan, for which a worker then credits 10 points."""
    code = factories.code(programme.brand)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=member.user_id))


def test_accruals_concurrent_with_lowered_levels_count_all_points(programme):
    members = [member_with_ending_level(programme) for _ in range(6)]
    for member in members:
        scan(programme, member)

    run_concurrently(
        lambda job: job(), [lambda: run.catch_up(at=timezone.now()), worker.drain, worker.drain], threads=3
    )
    worker.drain()

    for member in members:
        member.refresh_from_db()
        assert (member.current_level, member.period_points) == ("Silver", 105)
        assert programme.history(member) == [
            ("Bronze", "Silver", "reached"),
            ("Silver", "Bronze", "lowered"),
            ("Bronze", "Silver", "reached"),
        ]
    assert list(consistency.differences()) == []


def lower_level_during_accrual(programme, monkeypatch):
    """Lower the level after the accrual has read it and before the accrual writes."""
    member = member_with_ending_level(programme)
    scan(programme, member)
    type(member).objects.filter(pk=member.pk).update(level_due_at=timezone.now() + timedelta(hours=1))
    original_write = write.write

    def lower_level_then_write(accruals):
        monkeypatch.setattr(write, "write", original_write)
        type(member).objects.filter(pk=member.pk).update(level_due_at=timezone.now())
        run_concurrently(lambda _: run.catch_up(at=timezone.now()), [0])
        return original_write(accruals)

    monkeypatch.setattr(write, "write", lower_level_then_write)
    worker.drain()
    member.refresh_from_db()
    return member


def test_accrual_is_decided_again_if_the_level_is_lowered_during_it(programme, monkeypatch):
    member = lower_level_during_accrual(programme, monkeypatch)

    assert (member.current_level, member.period_points) == ("Silver", 105)
    assert programme.history(member)[-2:] == [("Silver", "Bronze", "lowered"), ("Bronze", "Silver", "reached")]
    assert list(consistency.differences()) == []


def test_control_without_the_version_the_accrual_restores_the_old_level(programme, monkeypatch):
    unguarded = with_replacements(write.statement_with(Parts()), ("AND a.xmin = ANY (ARRAY[i.version::xid])", ""))
    monkeypatch.setattr(write, "statement_with", lambda _parts: unguarded)

    member = lower_level_during_accrual(programme, monkeypatch)

    assert programme.history(member)[-1] == ("Silver", "Bronze", "lowered")
    assert (member.current_level, member.level_until) == ("Silver", None), "the accrual wrote the outdated level"
    assert list(consistency.differences()) != []


def test_concurrent_jobs_lower_each_level_once_and_notify_once(programme, settings):
    settings.LEVELS_CHUNK = 2
    members = [member_with_ending_level(programme) for _ in range(9)]

    run_concurrently(lambda _: run.catch_up(at=timezone.now()), range(4))
    run.catch_up(at=timezone.now())

    assert LevelChange.objects.filter(reason="lowered").count() == len(members)
    lowered = Event.objects.filter(detail_type="notify", detail__payload__template="NOTIFY_LEVEL_LOWERED")
    assert lowered.count() == len(members)
    assert list(consistency.differences()) == []


def test_failed_job_is_rolled_back_and_the_next_one_lowers_the_level(programme, monkeypatch):
    member = member_with_ending_level(programme)
    with monkeypatch.context() as patched:
        patched.setattr(settle.consequences, "publish", fail)
        run.catch_up(at=timezone.now())
    member.refresh_from_db()
    assert member.current_level == "Silver"
    assert not LevelChange.objects.filter(reason="lowered").exists()

    run.catch_up(at=timezone.now())

    member.refresh_from_db()
    assert member.current_level == "Bronze"


def fail(*_arguments, **_keywords):
    raise SystemError


def test_adjustment_waits_for_a_level_change_and_counts_after_it(programme):
    member = member_with_ending_level(programme)

    run_during_transaction(
        lambda: run.settle(brand=programme.brand, accounts=[member.pk], at=timezone.now()),
        lambda: programme.earn(member, 10, timezone.now()),
    )

    member.refresh_from_db()
    assert (member.current_level, member.period_points) == ("Silver", 105)
    assert list(consistency.differences()) == []
