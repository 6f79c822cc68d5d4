"""bin/test: which tests its arguments stand for."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(PROJECT / "bin"))

import selection  # noqa: E402
from imports import imported_names, importers, module_name  # noqa: E402

FILES = {
    "shop/__init__.py": "",
    "shop/ledger.py": "",
    "shop/rewards/__init__.py": "",
    "shop/rewards/orders.py": "from shop import ledger\n",
    "shop/rewards/stamps.py": "",
    "shop/views.py": "def view():\n    import shop.rewards.orders\n",
    "till/__init__.py": "",
    "till/unused.py": "",
    "till/admin/drawers/pages.py": "",
    "till/drawers/coins/count.py": "",
    "tests/__init__.py": "",
    "tests/test_architecture.py": "",
    "tests/shop/__init__.py": "",
    "tests/shop/conftest.py": "",
    "tests/shop/test_ledger.py": "",
    "tests/shop/test_orders.py": "",
    "tests/shop/test_views.py": "",
    "tests/shop/test_sales.py": "from shop.rewards import stamps\n",
    "tests/till/__init__.py": "",
    "tests/till/test_orders.py": "",
    "tests/till/drawers/test_drawers.py": "",
}
NO_MATTER = ("-c", "user.name=a", "-c", "user.email=a@example.com")


def git(where, *arguments):
    subprocess.run(["git", *NO_MATTER, *arguments], cwd=where, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    git(tmp_path, "init", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message=All", "--no-verify")
    git(tmp_path, "switch", "--create=mine")
    return tmp_path


def chosen(project, *given):
    return selection.pytest_arguments(given, root=project)


def changed(project, *paths):
    for path in paths:
        (project / path).write_text("a = 1\n")
    return chosen(project, "--changed")[: -len(selection.FAST)]


def test_without_arguments_the_fast_lane_runs(project):
    assert chosen(project) == ["-m", "not slow"]


def test_all_are_all(project):
    assert chosen(project, "--all") == ["--durations=25"]


def test_coverage_is_gated_where_all_tests_run(project):
    assert chosen(project, "--all", "--coverage") == ["--durations=25", *selection.COVERAGE]
    assert chosen(project, "--coverage", "shop") == ["tests/shop", *selection.COVERAGE, selection.NO_GATE]
    assert chosen(project, "--coverage", "--all", "-x") == [
        "--durations=25",
        "-x",
        *selection.COVERAGE,
        selection.NO_GATE,
    ]


@pytest.mark.parametrize("option", [["-x"], ["-k", "shop"], ["--lf"]])
def test_options_of_pytest_pass_through(project, option):
    assert chosen(project, *option) == ["-m", "not slow", *option]
    assert chosen(project, "--all", *option) == ["--durations=25", *option]


def test_own_marks_replace_the_lane(project):
    assert chosen(project, "-m", "slow") == ["-m", "slow"]


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tests/shop", ["tests/shop"]),
        ("tests/shop/test_orders.py::test_a", ["tests/shop/test_orders.py::test_a"]),
        ("shop", ["tests/shop"]),
        ("shop/", ["tests/shop"]),
        ("shop/ledger.py", ["tests/shop/test_ledger.py"]),
        ("shop/rewards", ["tests/shop/test_sales.py"]),
        ("shop/rewards/orders.py", ["tests/shop/test_orders.py"]),
        ("shop/rewards/stamps.py", ["tests/shop/test_sales.py"]),
        ("till/admin/drawers", ["tests/till/drawers"]),
        ("till/drawers/coins", ["tests/till/drawers"]),
    ],
)
def test_a_path_stands_for_its_tests_slow_ones_too(project, path, tests):
    assert chosen(project, path, "-k", "shop") == [*tests, "-k", "shop"]


def test_a_path_without_tests_is_an_error(project):
    with pytest.raises(selection.NothingToRunError, match=r"till/unused\.py"):
        chosen(project, "till/unused.py")


def test_nothing_changed_leaves_the_architecture(project):
    assert changed(project) == ["tests/test_architecture.py"]


def test_tests_of_what_changed_and_of_what_imports_it_run(project):
    assert changed(project, "shop/ledger.py") == [
        "tests/shop/test_ledger.py",
        "tests/shop/test_orders.py",  # shop/rewards/orders.py imports the ledger; shop/views.py does not
        "tests/test_architecture.py",
    ]


def test_a_test_that_imports_what_changed_runs(project):
    assert "tests/shop/test_sales.py" in changed(project, "shop/rewards/stamps.py")


def test_what_is_committed_or_new_has_changed_too(project):
    (project / "shop/ledger.py").write_text("a = 1\n")
    git(project, "commit", "--all", "--message=Change", "--no-verify")

    found = changed(project, "tests/till/test_new.py")

    assert {"tests/shop/test_ledger.py", "tests/till/test_new.py"} <= set(found)


def test_what_is_gone_is_not_asked_for(project):
    (project / "tests/shop/test_ledger.py").unlink()

    assert changed(project) == ["tests/test_architecture.py"]


def test_a_conftest_stands_for_its_folder(project):
    assert "tests/shop" in changed(project, "tests/shop/conftest.py")


def test_what_is_not_followed_is_said(project, capsys):
    changed(project, "page.html")

    assert capsys.readouterr().err == "--changed does not follow page.html\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a.b", {"a.b"}),
        ("from a import b", {"a", "a.b"}),
        ("from . import c", {"shop.rewards", "shop.rewards.c"}),
        ("from ..till import c", {"shop.till", "shop.till.c"}),
        ("def f():\n    from a import b", {"a", "a.b"}),
    ],
)
def test_imports_are_read_from_the_source(source, names):
    assert imported_names(source, package="shop.rewards") == names


def test_a_package_is_imported_by_its_name():
    assert module_name("shop/rewards/__init__.py") == "shop.rewards"
    assert module_name("bin/embedded/server.py") == "embedded.server"
    assert importers({"a.py": {"shop.rewards"}, "b.py": {"shop"}}, ["shop/rewards/__init__.py"]) == {"a.py"}
