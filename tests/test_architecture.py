"""The import order of the apps, and the rules that keep each table with one writer."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = ["brands", "campaigns", "loyalty", "authcodes", "config"]
WRITES = {"create", "update", "save", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}


def modules_of(app: str) -> list[Path]:
    return [path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]


def imports_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("app", ORDER)
def test_an_app_imports_only_what_lies_below_it(app):
    above = set(ORDER[ORDER.index(app) + 1 :])

    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(app)
        for name in imports_of(ast.parse(path.read_text()))
        if name.partition(".")[0] in above
    ]

    assert wrong == []


@pytest.mark.parametrize("app", ORDER)
def test_no_function_hides_an_import(app):
    hidden = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules_of(app)
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert hidden == []


@pytest.mark.parametrize("app", ORDER)
def test_a_module_opens_by_saying_what_it_is_for(app):
    silent = [
        str(path.relative_to(ROOT))
        for path in modules_of(app)
        if path.read_text().strip() and path.name != "apps.py" and not ast.get_docstring(ast.parse(path.read_text()))
    ]

    assert silent == []


@pytest.mark.parametrize(
    ("table", "writer"),
    [
        ("user_points", {"loyalty/ledger.py", "loyalty/members.py"}),
        ("loyalty_transaction", {"loyalty/ledger.py"}),
        ("loyalty_event", {"loyalty/events.py"}),
        ("authcodes_scan", {"authcodes/scanning.py"}),
        ("user_loyalty_campaign", {"campaigns/progress.py"}),
        ("campaigns_rewardclaim", {"campaigns/progress.py"}),
    ],
)
def test_a_table_is_written_by_its_own_module_only(table, writer):
    writing = {
        str(path.relative_to(ROOT))
        for app in ORDER
        for path in modules_of(app)
        if re.search(rf"(INSERT INTO|UPDATE|DELETE FROM) {table}\b", path.read_text())
    }

    assert writing == writer


@pytest.mark.parametrize(
    ("model", "writers"),
    [
        ("UserPoints", {"loyalty/ledger.py", "loyalty/members.py"}),
        ("LoyaltyTransaction", set()),
        ("Event", {"loyalty/events.py"}),
        ("Scan", set()),
        ("AuthCode", {"authcodes/batches.py"}),
        ("BatchRange", {"authcodes/batches.py"}),
        ("Recall", {"authcodes/batches.py"}),
    ],
)
def test_a_model_is_written_by_its_own_module_only(model, writers):
    writing = {
        str(path.relative_to(ROOT))
        for app in ORDER
        for path in modules_of(app)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES
        if ast.unparse(node.func).startswith(f"{model}.objects")
    }

    assert writing <= writers
