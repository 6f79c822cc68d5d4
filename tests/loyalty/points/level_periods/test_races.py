"""An accrual at the moment at which a level falls, on parallel connections; with a control that shows the race."""

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
from tests.loyalty.points.level_periods.test_accruals import periods
from tests.support import factories
from tests.support.concurrency import at_once, while_uncommitted
from tests.support.statements import altered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db):
    made = Programme(level_period="quarter")
    made.night(timezone.now() - timedelta(days=900))
    return made


def about_to_fall(world):
    """A member in Silver whose day has come, with 95 points in the new period."""
    member = world.member()
    world.earn(member, 100, periods(world.brand, 3))
    factories.points(member.user, world.brand, 95, at=timezone.now())
    return member


def scan(world, member):
    """10 points, as a worker credits them."""
    code = factories.code(world.brand)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=member.user_id))


def test_an_accrual_at_the_moment_of_the_fall_comes_before_or_after_it(world):
    members = [about_to_fall(world) for _ in range(6)]
    for each in members:
        scan(world, each)

    at_once(lambda work: work(), [lambda: run.catch_up(at=timezone.now()), worker.drain, worker.drain], threads=3)
    worker.drain()

    for each in members:
        each.refresh_from_db()
        assert (each.current_level, each.period_points) == ("Silver", 105)
        assert world.history(each) == [
            ("Bronze", "Silver", "reached"),
            ("Silver", "Bronze", "lowered"),
            ("Bronze", "Silver", "reached"),
        ]
    assert list(consistency.differences()) == []


def fall_while_the_accrual_is_decided(world, monkeypatch):
    """The accrual has read the member's level; the level falls and is committed; then the accrual writes."""
    member = about_to_fall(world)
    scan(world, member)
    type(member).objects.filter(pk=member.pk).update(level_due_at=timezone.now() + timedelta(hours=1))
    written = write.write

    def be_overtaken(accruals):
        monkeypatch.setattr(write, "write", written)
        type(member).objects.filter(pk=member.pk).update(level_due_at=timezone.now())
        at_once(lambda _: run.catch_up(at=timezone.now()), [0])
        return written(accruals)

    monkeypatch.setattr(write, "write", be_overtaken)
    worker.drain()
    member.refresh_from_db()
    return member


def test_a_level_that_falls_while_an_accrual_is_decided_is_seen_by_it(world, monkeypatch):
    member = fall_while_the_accrual_is_decided(world, monkeypatch)

    assert (member.current_level, member.period_points) == ("Silver", 105)
    assert world.history(member)[-2:] == [("Silver", "Bronze", "lowered"), ("Bronze", "Silver", "reached")]
    assert list(consistency.differences()) == []


def test_control_without_the_version_the_accrual_undoes_the_fall(world, monkeypatch):
    unguarded = altered(write.statement_with(Parts()), ("AND a.xmin = ANY (ARRAY[i.version::xid])", ""))
    monkeypatch.setattr(write, "statement_with", lambda _parts: unguarded)

    member = fall_while_the_accrual_is_decided(world, monkeypatch)

    assert world.history(member)[-1] == ("Silver", "Bronze", "lowered")
    assert (member.current_level, member.level_until) == ("Silver", None), "what the accrual had read"
    assert list(consistency.differences()) != []


def test_two_jobs_at_once_lower_each_level_once_and_notify_once(world, settings):
    settings.LEVELS_CHUNK = 2
    members = [about_to_fall(world) for _ in range(9)]

    at_once(lambda _: run.catch_up(at=timezone.now()), range(4))
    run.catch_up(at=timezone.now())

    assert LevelChange.objects.filter(reason="lowered").count() == len(members)
    lowered = Event.objects.filter(detail_type="notify", detail__payload__template="NOTIFY_LEVEL_LOWERED")
    assert lowered.count() == len(members)
    assert list(consistency.differences()) == []


def test_a_job_that_dies_leaves_nothing_behind_and_the_next_one_goes_on(world, monkeypatch):
    member = about_to_fall(world)
    with monkeypatch.context() as patched:
        patched.setattr(settle.consequences, "publish", die)
        run.catch_up(at=timezone.now())
    member.refresh_from_db()
    assert member.current_level == "Silver"
    assert not LevelChange.objects.filter(reason="lowered").exists()

    run.catch_up(at=timezone.now())

    member.refresh_from_db()
    assert member.current_level == "Bronze"


def die(*_arguments, **_named):
    raise SystemError


def test_an_adjustment_waits_for_the_fall_and_counts_after_it(world):
    member = about_to_fall(world)

    while_uncommitted(
        lambda: run.settle(brand=world.brand, accounts=[member.pk], at=timezone.now()),
        lambda: world.earn(member, 10, timezone.now()),
    )

    member.refresh_from_db()
    assert (member.current_level, member.period_points) == ("Silver", 105)
    assert list(consistency.differences()) == []
