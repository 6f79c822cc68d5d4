"""SECURITY.md names the test of every threat; here each of them exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "SECURITY.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| threat") and "---" not in line
]
API_RISKS = {f"API{number}" for number in range(1, 11)}
ASVS_CHAPTERS = {f"V{number}" for number in range(1, 18)}


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_threat_has_a_risk_a_chapter_and_a_test():
    assert len(ROWS) > 40
    for threat, closed, risks, chapters, tests in ROWS:
        assert threat
        assert closed, threat
        assert risks == "-" or {each.strip() for each in risks.split(",")} <= API_RISKS, threat
        assert {each.strip().partition(".")[0] for each in chapters.split(",")} <= ASVS_CHAPTERS, threat
        assert re.search(r"`tests/[\w/]+\.py", tests), threat


def test_listed_tests_exist():
    missing = []
    for *_columns, tests in ROWS:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(?:\w+::)*(\w+))?`", tests):
            if not (ROOT / path).is_file() or (name and name not in functions(ROOT / path)):
                missing.append(f"{path}::{name}")
    assert missing == []


def test_all_ten_risks_are_covered():
    assert {each.strip() for _threat, _closed, risks, *_columns in ROWS for each in risks.split(",")} >= API_RISKS
