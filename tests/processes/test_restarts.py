"""PostgreSQL and Valkey are restarted repeatedly: no process is replaced by hand, and all started work is done."""

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.db import connection, connections
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext, ScanLocation
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from jobs.models import Job
from loyalty.models.ledger import LoyaltyTransaction
from tests.loyalty.integrations.webhooks import endpoint
from tests.support import factories
from tests.support.fakes.fake_http import Receiver, receiver
from tests.support.live_stack import ROOT, Stack, wait_until

sys.path.insert(0, str(ROOT / "bin"))

import launcher
from embedded import datadir, postgres, processes, valkey
from embedded.identity import Programs, choose
from embedded.server import Home, Server

RESTARTS = 10
DOWNTIME_SECONDS = 0.5
DONE_WITHIN_SECONDS = 60  # next to other tests; alone it takes five
BERLIN = ScanLocation(latitude=52.52, longitude=13.405)
START: dict[str, Callable[[Home], Server]] = {"postgres": postgres.start, "valkey": valkey.start}


class Servers:
    """PostgreSQL and Valkey for this module, which can be killed and started again."""

    def __init__(self, data_dir: Path) -> None:
        for folder in (data_dir, data_dir / "run", data_dir / "log", data_dir / "valkey"):
            datadir.make(folder)
        programs = Programs.installed()
        self.home = Home(data_dir, choose(data_dir, programs, made_now=True), programs, durable=False)
        self.running = {name: start(self.home) for name, start in START.items()}
        self.redis_url = f"unix://{data_dir}/run/valkey.sock?db=0"

    def restart(self, *names: str) -> None:
        for name in names:
            processes.stop([self.running[name].process], stop_signal=9, seconds=10)
        time.sleep(DOWNTIME_SECONDS)
        for name in names:
            self.running[name] = START[name](self.home)

    def stop(self) -> None:
        for each in self.running.values():
            each.stop()


@pytest.fixture(scope="module")
def servers(django_db_blocker: Any) -> Iterator[Servers]:
    """This process uses their database too, while the module runs."""
    folder = Path(tempfile.mkdtemp(prefix="rst-", dir="/tmp"))
    folder.chmod(0o711)
    running = Servers(folder / "data")
    before = dict(connection.settings_dict)
    with django_db_blocker.unblock():
        connections.close_all()
        connection.settings_dict.update(
            NAME="loyalty", USER="loyalty", PASSWORD="", HOST=str(running.home.run), PORT="5432"
        )
        connection.settings_dict.pop("OWNER", None)
        try:
            call_command("migrate", verbosity=0)
            yield running
        finally:
            connections.close_all()
            connection.settings_dict.clear()
            connection.settings_dict.update(before)
            running.stop()
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def external_server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def brand(servers: Servers, external_server: Receiver) -> Brand:
    private, site.OUTGOING_PRIVATE_NETWORKS = site.OUTGOING_PRIVATE_NETWORKS, ["127.0.0.0/8"]
    made = factories.brand()
    factories.level(made)
    endpoint(made, external_server, types=["points.earned"])
    site.OUTGOING_PRIVATE_NETWORKS = private
    return made


@pytest.fixture(scope="module")
def stack(servers: Servers, brand: Brand, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """All processes of bin/run except the web, started by the same commands."""
    folder = tmp_path_factory.mktemp("restarts")
    (folder / "run").mkdir()
    running = Stack(log=folder / "log", redis_url=servers.redis_url)
    running.settings = {"OUTGOING_PRIVATE_NETWORKS": "127.0.0.0/8", "DATA_DIR": str(folder)}
    commands = launcher.commands(launcher.Site("127.0.0.1", running.port, folder))
    for name, command in commands.items():
        if name != "web":
            running.start(*command)
    workers = len(commands) - 2
    wait_until(lambda: running.log.read_bytes().count(b" ready.") == workers, seconds=120)
    yield running
    running.stop()


class StartedWork:
    """The work that was started between restarts, for every kind of worker."""

    def __init__(self, brand: Brand) -> None:
        self.brand, self.codes = brand, 0

    def start_more(self, customer: User) -> None:
        code = factories.code(self.brand)
        context = ScanContext(at=timezone.now(), user_id=customer.pk, place=BERLIN)
        scan.scan(scanned=code.code, context=context)
        name = f"L{Job.objects.count():03d}-"
        batch_settings = BatchSettings(range_name=name, quantity=5_000, prefix=name, number_width=8, signed=False)
        batch = batches.create_batch(brand=self.brand, batch_settings=batch_settings, at=timezone.now())
        batches.start_generation(batch=batch, by=None)
        self.codes += 1 + batch_settings.quantity

    def is_done(self) -> bool:
        connection.close_if_unusable_or_obsolete()
        return not (
            Event.objects.pending().exists()
            or Job.objects.exclude(status=Job.Status.DONE).exists()
            or Scan.objects.filter(location="").exists()
        )


@pytest.mark.parametrize("names", [["postgres"], ["valkey"], ["postgres", "valkey"]], ids="+".join)
def test_started_work_is_done_soon_after_ten_restarts(names, servers, stack, brand, external_server):
    started, before = StartedWork(brand), (AuthCode.objects.count(), LoyaltyTransaction.objects.count())
    delivered_before = len({call.headers["webhook-id"] for call in external_server.calls})
    for _ in range(RESTARTS):
        connection.close()
        started.start_more(factories.customer(brand))
        servers.restart(*names)

    wait_until(started.is_done, seconds=DONE_WITHIN_SECONDS)

    assert AuthCode.objects.count() - before[0] == started.codes
    assert LoyaltyTransaction.objects.count() - before[1] == RESTARTS
    assert len({call.headers["webhook-id"] for call in external_server.calls}) - delivered_before == RESTARTS
    assert not Event.objects.dead().exists()
    assert all(process.poll() is None for process in stack.processes), shlex.join(["see", str(stack.log)])
