"""A dump that is restored into an empty database passes the platform's checks, and a tampered copy does not."""

import os
import subprocess
import sys

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from events import worker
from tests.hosts.servers import home
from tests.support import factories
from tests.support.live_stack import ROOT, database_url

RESTORED = "restored"


@pytest.fixture
def restored(transactional_db, tmp_path):
    """The address of a copy of a database with points, made with pg_dump and pg_restore."""
    brand = factories.brand()
    factories.level(brand)
    customer = factories.customer(brand)
    for _ in range(5):
        context = ScanContext(at=timezone.now(), user_id=customer.pk)
        scan.scan(scanned=factories.code(brand).code, context=context)
    worker.drain()
    call_command("check_ledger")
    entry = connection.settings_dict
    programs, login = home().programs.postgres / "bin", ["--host", entry["HOST"], "--username", entry["USER"]]

    def run(program, *arguments):
        subprocess.run([programs / program, *login, *arguments], check=True)

    dump = tmp_path / "loyalty.dump"
    run("pg_dump", "--format=custom", f"--file={dump}", entry["NAME"])
    run("createdb", RESTORED)
    try:
        run("pg_restore", "--exit-on-error", "--jobs=2", "--no-owner", f"--dbname={RESTORED}", dump)
        yield database_url().replace(f"/{entry['NAME']}", f"/{RESTORED}")
    finally:
        run("dropdb", "--force", RESTORED)


def manage(address, *arguments):
    environment = {**os.environ, "DATABASE_URL": address}
    command = [sys.executable, ROOT / "manage.py", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_restored_dump_passes_the_checks(restored):
    for command in (["migrate", "--check"], ["migrate"], ["check_ledger"], ["check_rollups"]):
        result = manage(restored, *command)
        assert result.returncode == 0, result.stdout + result.stderr


def test_tampered_copy_fails_the_check_of_the_ledger(restored):
    manage(restored, "migrate")
    entry = connection.settings_dict
    with psycopg.connect(f"host={entry['HOST']} user={entry['USER']} dbname={RESTORED}") as session:
        session.execute("UPDATE user_points SET points = points + 1, points_earned = points_earned + 1")

    result = manage(restored, "check_ledger")

    assert result.returncode == 1, result.stdout
