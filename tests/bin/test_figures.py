"""The figures that bin/figures.py prints of a tree."""

import subprocess
import sys

import pytest

from tests.support.lanes import TESTS

SCRIPT = TESTS.parent / "bin" / "figures.py"
MODEL = '''"""A module."""


class A:
    def one(self):
        return 1


def _private():
    pass
'''
QUERY = '''"""SELECT is only a word FROM here."""

QUERY = """
    SELECT a
      FROM b
"""  # noqa: S608
'''
OUTPUTS = '''"""What no server reads is not counted: os.environ["SET"] = "1", environ["PATH_INFO"]."""


class Output(Serializer): ...
class Inner(Output): ...
class Outer(Output):
    data = Inner()
class Described(Output): ...
def view():
    return Outer.serialize(environ["PATH_INFO"])
'''
FILES = {
    "manage.py": "",
    "app/models.py": MODEL,
    "app/queries.py": QUERY,
    "app/sql/fetch_a.sql": "-- hot: a test\nSELECT 1\n",
    "app/settings.py": 'import os\nA = os.environ["ONE"], env.text("TWO"), env.flag("TWO")\n',
    "tests/test_a.py": "def test_a():\n    assert True\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "old" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path / "old", check=True)
    return tmp_path / "old"


def figures(*trees):
    result = subprocess.run([sys.executable, SCRIPT, *trees], capture_output=True, text=True, check=False)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()]
    return result, {name: values for name, *values in rows}


def test_tree_is_measured(tree):
    _result, printed = figures(tree)

    assert printed[""] == ["old"]
    expected = {
        "application: files": "4",
        "application: lines": "18",
        "tests: lines": "2",
        "test lines per application line": "0.11",
        "lines of a function (median / p95 / max)": "2 / 2 / 2",
        "files with SQL in Python": "1",
        "lines of SQL in Python": "2",
        "SQL files": "1",
        "lines of SQL files": "2",
        "environment variables read": "2",
        "suppressions of linters and types": "1",
    }
    assert {name: printed[name] for name in expected} == {name: [value] for name, value in expected.items()}


def test_output_serializers_that_serialize_are_counted(tree):
    (tree / "app" / "outputs.py").write_text(OUTPUTS)
    subprocess.run(["git", "add", "."], cwd=tree, check=True)

    _result, printed = figures(tree)

    assert printed["output serializers that serialize / all"] == ["2 / 3"]
    assert printed["environment variables read"] == ["2"]


def test_minutes_of_the_tests_are_printed(tree):
    result, printed = figures("--minutes", "13.5,5.8", tree, tree)

    assert (result.returncode, printed["minutes of all tests"]) == (0, ["13.5", "5.8"])


def test_each_tree_needs_its_minutes(tree):
    result, _printed = figures("--minutes", "13.5", tree, tree)

    assert (result.returncode, "1 figures for 2 trees" in result.stderr) == (2, True)


def test_two_trees_are_printed_side_by_side(tree):
    result, printed = figures(tree, TESTS.parent)

    assert result.returncode == 0
    assert all(len(values) == 2 for values in printed.values())


def test_folder_without_manage_py_is_rejected(tmp_path):
    result, _printed = figures(tmp_path)

    assert (result.returncode, "there is no manage.py" in result.stderr) == (2, True)
