"""bin/test and bin/several-hosts install missing Debian packages; bin/several-hosts fails without them."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SERVERS = ["pgbouncer", "rabbitmq-server"]

# The file `installed` is the list of installed packages, to which a working apt-get adds its arguments.
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
    """A system whose packages are listed in a file, with its own dpkg-query and apt-get first in PATH."""

    def __init__(self, folder: Path, *, on_install: str = "") -> None:
        self.folder = folder
        (folder / "installed").touch()
        for name, script in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET)):
            (folder / name).write_text(script.format(here=folder, then=on_install))
            (folder / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def install(self, *packages: str) -> "subprocess.CompletedProcess[str]":
        return self.run("bash", "-c", f"source {ROOT}/bin/packages; install_packages {' '.join(packages)}")

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def installed(self) -> list[str]:
        return (self.folder / "installed").read_text().split()


@pytest.fixture
def broken(tmp_path: Path) -> Debian:
    """A system whose package mirror does not answer."""
    return Debian(tmp_path, on_install="exit 100")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")


@as_root
def test_missing_package_is_installed(tmp_path: Path) -> None:
    debian = Debian(tmp_path)
    (tmp_path / "installed").write_text("pgbouncer\n")

    assert debian.install(*SERVERS).returncode == 0
    assert "rabbitmq-server" in debian.installed()
    assert debian.installed().count("pgbouncer") == 1


def test_installed_packages_are_not_installed_again(tmp_path: Path) -> None:
    debian = Debian(tmp_path)
    (tmp_path / "installed").write_text("\n".join(SERVERS) + "\n")

    assert debian.install(*SERVERS).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_several_hosts_fails_without_its_servers(broken: Debian) -> None:
    result = broken.run(str(ROOT / "bin" / "several-hosts"), "--collect-only")

    assert result.returncode == 1
    assert "apt-get install -y --no-install-recommends pgbouncer rabbitmq-server" in result.stderr
    assert "test_journeys" not in result.stdout


def test_several_hosts_fails_if_apt_installs_nothing(tmp_path: Path) -> None:
    debian = Debian(tmp_path, on_install="exit 0")

    assert debian.run(str(ROOT / "bin" / "several-hosts"), "--collect-only").returncode == 1


def test_fixtures_of_the_hosts_never_skip() -> None:
    assert "skip" not in (ROOT / "tests" / "hosts" / "conftest.py").read_text()
