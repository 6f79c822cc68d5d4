"""Each hand-written statement in a file: it says why it is one, PostgreSQL can plan it, and it is loaded."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from authcodes.scanning.scan_events import SETTLE_SCANS
from campaigns.accrual import snapshot, write
from campaigns.accrual.write import Parts
from core.db import statements
from core.db.statements import LOADED, PARTS
from loyalty.members.listing import refresh
from portal.timeline import reading
from tests.test_architecture import ORDER

ROOT = Path(settings.BASE_DIR)
FILES = sorted(path.relative_to(ROOT).as_posix() for app in ORDER for path in (ROOT / app).rglob("sql/*.sql"))


for folder in {Path(path).parent.parent for path in FILES}:
    for module in (ROOT / folder).glob("*.py"):
        if '.sql"' not in module.read_text():
            continue  # modules of config such as wsgi set a process up
        import_module(module.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."))


@dataclass(frozen=True)
class Pair:
    """What a row of two columns is made into."""

    first: int
    second: int = 0


@pytest.fixture
def file(tmp_path, monkeypatch):
    """`file(text)`: the name of a statement's file."""
    monkeypatch.setattr(statements, "PROJECT", tmp_path)
    monkeypatch.setattr(statements, "LOADED", {})

    def made(text):
        (tmp_path / "a.sql").write_text(text)
        return "a.sql"

    return made


def test_statement_files_exist():
    assert len(FILES) >= 20


@pytest.mark.parametrize("path", FILES)
def test_file_states_why_it_is_not_orm_code(path):
    assert re.match(r"-- (hot|set|check): \S.*", (ROOT / path).read_text()), path


def load_composed_statements():
    """Statements with parts of other apps are loaded when they are first needed."""
    write.statement_with(Parts())
    reading.statement()
    refresh.statement()


def test_every_file_is_loaded_or_a_part():
    load_composed_statements()

    assert set(FILES) == set(LOADED) | PARTS


@pytest.mark.parametrize("path", FILES)
def test_postgresql_plans_the_statement(db, path):
    load_composed_statements()
    if path in PARTS:
        pytest.skip("a part of others")
    assert plan_of(LOADED[path])


def test_postgresql_plans_accruals_with_scans(db):
    assert plan_of(write.statement_with(Parts(SETTLE_SCANS)).text)


@pytest.mark.parametrize(
    "parts",
    [
        Parts(has_uses=True),
        Parts(has_budgets=True),
        Parts(changes_level=True),
        Parts(SETTLE_SCANS, True, True, True),
    ],
)
def test_postgresql_plans_accruals_with_limited_rules(db, parts):
    assert plan_of(write.statement_with(parts).text)


def plan_of(statement: str) -> list[Any]:
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    text = re.sub(r"%\((\w+)\)s", numbered, statement).replace("%%", "%")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {text}")
        return cursor.fetchall()


def test_exactly_one_statement_inserts_events():
    assert [path for path in FILES if "INTO events_event" in (ROOT / path).read_text()] == [
        "events/sql/insert_events.sql"
    ]


def test_accrual_statements_are_limited_to_max_actions():
    for path in (
        "campaigns/accrual/sql/write_accruals.sql",
        "campaigns/accrual/sql/fetch_snapshots.sql",
        "authcodes/scanning/sql/fetch_codes.sql",
    ):
        assert f"LIMIT {snapshot.MAX_ACTIONS}\n" in (ROOT / path).read_text()


def test_rows_are_built_by_column_name(db, file):
    pairs = statements.query(file("-- hot: a test\nSELECT 1 AS first, %(it)s::int AS second"), returns=Pair)

    assert pairs.all(it=2) == [Pair(1, 2)]
    assert pairs.first(it=3) == Pair(1, 3)


def test_unknown_column_name_is_an_error(db, file):
    pairs = statements.query(file("SELECT 1 AS first, 2 AS third"), returns=Pair)

    with pytest.raises(TypeError, match=r"a\.sql returns first, third; expected first, second"):
        pairs.all()


def test_trailing_columns_with_defaults_are_optional(db, file):
    assert statements.query(file("SELECT 1 AS first"), returns=Pair).all() == [Pair(1)]


def test_single_column_returns_plain_values(db, file):
    values = statements.query_values(file("SELECT n AS number FROM generate_series(1, %(most)s::int) n"), "number")

    assert (values.all(most=2), values.first(most=0)) == ([1, 2], None)


def test_command_returns_number_of_changed_rows(db, file):
    text = "CREATE TEMPORARY TABLE numbers ON COMMIT DROP AS SELECT generate_series(1, 3)"

    assert statements.command(file(text)).run() == 3


def test_parts_must_match_their_placeholders(file):
    assert statements.part(file("SELECT {what}"), what="1") == "SELECT 1"
    with pytest.raises(ValueError, match=r"a\.sql has no placeholder {which}"):
        statements.part(file("SELECT {what}"), which="1")
