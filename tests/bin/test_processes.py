"""The launcher, the Procfile, compose, the image and the systemd units start the same processes."""

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

PLACEHOLDERS = {"--host": "HOST", "--port": "PORT", "--schedule": "FILE"}
PROCESSES = {"web", "worker", "jobs", "sender", "regular", "beat"}


def arguments_of(command):
    """The arguments of a command, with placeholders for its address and its files."""
    arguments = shlex.split(command) if isinstance(command, str) else list(command)
    arguments[0] = arguments[0].rpartition("/")[2]
    return [PLACEHOLDERS.get(previous, word) for previous, word in zip(["", *arguments], arguments, strict=False)]


@pytest.fixture(scope="module")
def expected():
    return {name: arguments_of(command) for name, command in commands(Site("127.0.0.1", 8000, Path("/x"))).items()}


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_launcher_starts_the_known_processes(expected):
    assert set(expected) == PROCESSES


def test_procfile_starts_the_processes_of_the_launcher(expected):
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())

    assert lines.pop("release").endswith("migrate --noinput")
    assert {name: arguments_of(command) for name, command in lines.items()} == expected


def test_compose_starts_the_processes_of_the_launcher(expected, compose):
    started = {name: arguments_of(compose["services"][name]["command"]) for name in PROCESSES}

    assert started == expected


def test_image_starts_the_web_process(expected):
    [command] = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert arguments_of(json.loads(command)) == expected["web"]


def test_systemd_starts_the_processes_of_the_launcher(expected):
    started = {}
    for unit in UNITS.glob("loyalty-*.service"):
        [command] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        started[unit.stem.removeprefix("loyalty-")] = arguments_of(command.replace("%%", "%"))

    assert started == expected


def test_systemd_units_are_valid(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/loyalty/.venv/bin/", f"{Path(sys.executable).parent}/")
        (tmp_path / unit.name).write_text(text)

    result = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.iterdir()], capture_output=True, text=True, check=False
    )

    assert (result.returncode, result.stderr) == (0, "")


def test_compose_reads_every_secret_from_a_file(compose):
    for name in {*PROCESSES, "migrate"}:
        service = compose["services"][name]
        assert not {"SECRET_KEY", "DATABASE_URL", "CODE_TAG_SECRETS", "METRICS_TOKEN"} & set(service["environment"])
        assert set(service["secrets"]) <= set(compose["secrets"])
        files = {value for key, value in service["environment"].items() if key.endswith("_FILE")}
        assert files == {f"/run/secrets/{secret}" for secret in service["secrets"]}
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_compose_gives_each_kind_of_process_its_own_database_login(compose):
    """tests/processes/test_database_logins.py runs the product on them."""
    services = compose["services"]

    def database_secrets(name):
        return {secret for secret in services[name]["secrets"] if secret.startswith("database_")}

    assert database_secrets("web") == {"database_web_url"}
    for name in PROCESSES - {"web"}:
        assert database_secrets(name) == {"database_worker_url"}
    # The owner's migrations let the login of the worker's address take on the roles that they create.
    assert database_secrets("migrate") == {"database_owner_url", "database_worker_url"}
    assert services["migrate"]["environment"]["DATABASE_OWNER_URL_FILE"] == "/run/secrets/database_owner_url"
    for name in {*PROCESSES, "migrate", "redis"}:
        assert "postgres_password" not in services[name].get("secrets", [])


def test_compose_creates_the_logins_with_the_database(compose):
    postgres, script = compose["services"]["postgres"], "docs/operations/database-logins.sql"
    text = (ROOT / script).read_text()
    secrets_read = set(re.findall(r"'(database_\w+_url)'", text))

    assert f"./{script}:/docker-entrypoint-initdb.d/database-logins.sql:ro" in postgres["volumes"]
    assert secrets_read == {secret for secret in postgres["secrets"] if secret.startswith("database_")}
    assert postgres["environment"]["POSTGRES_USER"] == "postgres"
    assert f"{postgres['environment']['POSTGRES_DB']}_app" in text
    install_guide = (ROOT / "docs" / "operations" / "install.md").read_text()
    assert '"postgres://loyalty_$login:' in install_guide


def test_image_copies_exactly_the_files_that_dockerignore_allows():
    dockerfile = (ROOT / "Dockerfile").read_text()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    copied = {
        word for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]
    }
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)
    assert "\nUSER 10001:10001\n" in dockerfile
