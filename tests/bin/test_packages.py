"""Debian packages of bin/test and bin/several-hosts: installed where they are missing, or several hosts fail."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SERVERS = ["pgbouncer", "rabbitmq-server"]

# `installed` is Debian's list of packages; apt-get adds to it what it is told to, where it works.
DPKG_QUERY = """#!/bin/sh
grep --quiet --line-regexp "$3" "{here}/installed" && echo installed
"""
APT_GET = """#!/bin/sh
echo "$*" >>"{here}/asked"
[ "$1" = update ] && exit 0
{then}
for word; do echo "$word" >>"{here}/installed"; done
"""


class Debian:
    """A system whose packages are listed in a file; what comes after them is `bin/test`'s own."""

    def __init__(self, here: Path, *, then: str = "") -> None:
        self.here = here
        (here / "installed").touch()
        for name, script in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET)):
            (here / name).write_text(script.format(here=here, then=then))
            (here / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"}

    def install(self, *packages: str) -> "subprocess.CompletedProcess[str]":
        return self.run("bash", "-c", f"source {ROOT}/bin/packages; install_packages {' '.join(packages)}")

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def installed(self) -> list[str]:
        return (self.here / "installed").read_text().split()


@pytest.fixture
def broken(tmp_path: Path) -> Debian:
    """Its mirror does not answer."""
    return Debian(tmp_path, then="exit 100")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")


@as_root
def test_what_is_missing_is_installed(tmp_path: Path) -> None:
    debian = Debian(tmp_path)
    (tmp_path / "installed").write_text("pgbouncer\n")

    assert debian.install(*SERVERS).returncode == 0
    assert "rabbitmq-server" in debian.installed()
    assert debian.installed().count("pgbouncer") == 1


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    debian = Debian(tmp_path)
    (tmp_path / "installed").write_text("\n".join(SERVERS) + "\n")

    assert debian.install(*SERVERS).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_several_hosts_fail_without_their_servers(broken: Debian) -> None:
    ended = broken.run(str(ROOT / "bin" / "several-hosts"), "--collect-only")

    assert ended.returncode == 1
    assert "apt-get install -y --no-install-recommends pgbouncer rabbitmq-server" in ended.stderr
    assert "test_journeys" not in ended.stdout


def test_several_hosts_fail_where_apt_installs_nothing(tmp_path: Path) -> None:
    debian = Debian(tmp_path, then="exit 0")

    assert debian.run(str(ROOT / "bin" / "several-hosts"), "--collect-only").returncode == 1


def test_no_fixture_of_the_hosts_skips_for_a_missing_server() -> None:
    assert "skip" not in (ROOT / "tests" / "hosts" / "conftest.py").read_text()
