"""The tests that the arguments of bin/test select."""

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
GIT_IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com")


def git(directory, *arguments):
    subprocess.run(["git", *GIT_IDENTITY, *arguments], cwd=directory, check=True, capture_output=True)


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


def selected(project, *arguments):
    return selection.pytest_arguments(arguments, root=project)


def selected_for_changes(project, *paths):
    for path in paths:
        (project / path).write_text("a = 1\n")
    return selected(project, "--changed")[: -len(selection.FAST)]


def test_without_arguments_the_fast_lane_runs(project):
    assert selected(project) == ["-m", "not slow"]


def test_all_option_selects_every_test(project):
    assert selected(project, "--all") == ["--durations=25"]


def test_coverage_is_gated_only_where_all_tests_run(project):
    assert selected(project, "--all", "--coverage") == ["--durations=25", *selection.COVERAGE]
    assert selected(project, "--coverage", "shop") == ["tests/shop", *selection.COVERAGE, selection.NO_GATE]
    assert selected(project, "--coverage", "--all", "-x") == [
        "--durations=25",
        "-x",
        *selection.COVERAGE,
        selection.NO_GATE,
    ]


@pytest.mark.parametrize("option", [["-x"], ["-k", "shop"], ["--lf"]])
def test_options_of_pytest_are_passed_on(project, option):
    assert selected(project, *option) == ["-m", "not slow", *option]
    assert selected(project, "--all", *option) == ["--durations=25", *option]


def test_marker_option_replaces_the_fast_lane(project):
    assert selected(project, "-m", "slow") == ["-m", "slow"]


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
def test_path_selects_its_tests_including_slow_ones(project, path, tests):
    assert selected(project, path, "-k", "shop") == [*tests, "-k", "shop"]


def test_path_without_tests_is_an_error(project):
    with pytest.raises(selection.NothingToRunError, match=r"till/unused\.py"):
        selected(project, "till/unused.py")


def test_without_changes_only_the_architecture_is_tested(project):
    assert selected_for_changes(project) == ["tests/test_architecture.py"]


def test_tests_of_changed_modules_and_of_their_importers_run(project):
    assert selected_for_changes(project, "shop/ledger.py") == [
        "tests/shop/test_ledger.py",
        "tests/shop/test_orders.py",  # shop/rewards/orders.py imports the ledger; shop/views.py does not
        "tests/test_architecture.py",
    ]


def test_tests_that_import_a_changed_module_run(project):
    assert "tests/shop/test_sales.py" in selected_for_changes(project, "shop/rewards/stamps.py")


def test_committed_and_new_files_count_as_changed(project):
    (project / "shop/ledger.py").write_text("a = 1\n")
    git(project, "commit", "--all", "--message=Change", "--no-verify")

    tests = selected_for_changes(project, "tests/till/test_new.py")

    assert {"tests/shop/test_ledger.py", "tests/till/test_new.py"} <= set(tests)


def test_deleted_test_is_not_selected(project):
    (project / "tests/shop/test_ledger.py").unlink()

    assert selected_for_changes(project) == ["tests/test_architecture.py"]


def test_changed_conftest_selects_its_folder(project):
    assert "tests/shop" in selected_for_changes(project, "tests/shop/conftest.py")


def test_changed_file_that_is_not_followed_is_reported(project, capsys):
    selected_for_changes(project, "page.html")

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


def test_package_is_imported_by_its_name():
    assert module_name("shop/rewards/__init__.py") == "shop.rewards"
    assert module_name("bin/embedded/server.py") == "embedded.server"
    assert importers({"a.py": {"shop.rewards"}, "b.py": {"shop"}}, ["shop/rewards/__init__.py"]) == {"a.py"}
