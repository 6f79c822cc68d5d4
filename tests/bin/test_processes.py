"""One set of processes, wherever it is written down: launcher, Procfile, compose, image and systemd units."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
UNITS = ROOT / "docs" / "operations" / "systemd"
sys.path.insert(0, str(ROOT / "bin"))

from launcher import Site, commands  # noqa: E402

PLACES = {"--host": "HOST", "--port": "PORT", "--schedule": "FILE"}
PROCESSES = {"web", "worker", "jobs", "sender", "regular", "beat"}


def words(command):
    """Its words, with where it listens and keeps its files left open."""
    found = shlex.split(command) if isinstance(command, str) else list(command)
    found[0] = found[0].rpartition("/")[2]
    return [PLACES.get(before, word) for before, word in zip(["", *found], found, strict=False)]


@pytest.fixture(scope="module")
def wanted():
    return {name: words(command) for name, command in commands(Site("127.0.0.1", 8000, Path("/x"))).items()}


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_all_of_them_are_known(wanted):
    assert set(wanted) == PROCESSES


def test_the_procfile_starts_the_same(wanted):
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())

    assert lines.pop("release").endswith("migrate --noinput")
    assert {name: words(command) for name, command in lines.items()} == wanted


def test_compose_starts_the_same(wanted, compose):
    started = {name: words(compose["services"][name]["command"]) for name in PROCESSES}

    assert started == wanted


def test_the_image_starts_the_web(wanted):
    [command] = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert words(json.loads(command)) == wanted["web"]


def test_systemd_starts_the_same(wanted):
    started = {}
    for unit in UNITS.glob("loyalty-*.service"):
        [command] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        started[unit.stem.removeprefix("loyalty-")] = words(command.replace("%%", "%"))

    assert started == wanted


def test_systemd_understands_the_units(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/loyalty/.venv/bin/", f"{Path(sys.executable).parent}/")
        (tmp_path / unit.name).write_text(text)

    said = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.iterdir()], capture_output=True, text=True, check=False
    )

    assert (said.returncode, said.stderr) == (0, "")


def test_every_secret_of_compose_comes_from_a_file(compose):
    for name in PROCESSES:
        service = compose["services"][name]
        assert not {"SECRET_KEY", "DATABASE_URL", "CODE_TAG_SECRETS", "METRICS_TOKEN"} & set(service["environment"])
        assert set(service["secrets"]) <= set(compose["secrets"])
        files = {value for key, value in service["environment"].items() if key.endswith("_FILE")}
        assert files == {f"/run/secrets/{secret}" for secret in service["secrets"]}
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_the_image_takes_what_the_service_needs_and_nothing_else():
    dockerfile = (ROOT / "Dockerfile").read_text()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    copied = {
        word for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]
    }
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)
    assert "\nUSER 10001:10001\n" in dockerfile
