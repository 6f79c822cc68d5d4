"""Several hosts, each with its own directory, over shared servers. Only bin/several-hosts runs these tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.hosts.servers import Bouncer, Bucket, Rabbit, Replica, programs_missing
from tests.support.live_stack import Stack

REDIS = "redis"


class Host(Stack):
    """A host: web and worker with their own working directory and DATA_DIR."""

    @property
    def data_dir(self) -> Path:
        return Path(self.settings["DATA_DIR"])

    def files(self) -> list[Path]:
        media = self.data_dir / "media"
        return [path for path in media.rglob("*") if path.is_file()]


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hosts")


@pytest.fixture(scope="package")
def bucket() -> Iterator[Bucket]:
    with Bucket() as made:
        yield made


@pytest.fixture(scope="package")
def bouncer(django_db_setup: None) -> Iterator[Bouncer]:
    if "pgbouncer" in programs_missing():
        pytest.fail("pgbouncer is not installed: apt-get install pgbouncer")
    with Bouncer() as started:
        yield started


@pytest.fixture(scope="package")
def replica(django_db_setup: None) -> Iterator[Replica]:
    with Replica() as started:
        yield started


@pytest.fixture(scope="package")
def rabbit(folder: Path) -> Iterator[Rabbit]:
    if "rabbitmq-server" in programs_missing():
        pytest.fail("rabbitmq-server is not installed: apt-get install rabbitmq-server")
    with Rabbit(folder / "rabbit") as started:
        yield started


@pytest.fixture(scope="package", params=[REDIS, "rabbitmq"])
def hosts(
    request: pytest.FixtureRequest,
    folder: Path,
    bucket: Bucket,
    bouncer: Bouncer,
    replica: Replica,
    django_db_blocker: Any,
) -> Iterator[tuple[Host, Host]]:
    """Two hosts, the first of which runs beat: once with Redis as the broker, once with RabbitMQ."""
    broker = {} if request.param == REDIS else {"CELERY_BROKER_URL": request.getfixturevalue("rabbit").url}
    pair = []
    for name in ("one", "two"):
        host_folder = folder / f"{request.param}-{name}"
        host_folder.mkdir()
        host = Host(log=host_folder / "log", redis_url=settings.REDIS_URL, directory=host_folder)
        with django_db_blocker.unblock():
            host.settings = {
                "DATA_DIR": str(host_folder / "data"),
                "DATABASE_URL": bouncer.url,
                "PGBOUNCER": "1",
                "DATABASE_STATEMENT_TIMEOUT_MS": "0",
                "REPLICA_DATABASE_URL": replica.url,
                "METRICS_TOKEN": "m" * 40,
                "STORAGE_SECRETS": f"1:{settings.SECRET_KEY}",
                **bucket.settings,
                **broker,
            }
        pair.append(host)
    try:
        for number, host in enumerate(pair):
            host.start_web(workers=1)
            host.start_worker(concurrency=1, beat=number == 0, name=f"{number}@%h")
        yield pair[0], pair[1]
    finally:
        for host in pair:
            host.stop()
