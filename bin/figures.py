"""Prints what one tree of the project, or two side by side, measure: sizes, names, SQL, settings.

python bin/figures.py [TREE ...]        Markdown, a column per tree; without a tree, this one

A tree is a folder, such as a worktree of an older commit. Nothing in it is run.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median, quantiles

BESIDE_THE_APPLICATION = {"tests", "bench", "bin", "docs", ".ci"}
SUPPRESSION = re.compile(r"#\s*(noqa|type: ignore|pragma: no cover)")
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS)\b[\s\S]*\b(FROM|SET|VALUES|SELECT)\b")
ENVIRONMENT = re.compile(
    r"\benv(?:ironment)?(?:\.\w+)?\(\s*\"([A-Z][A-Z0-9_]+)\"|environ(?:\.get\(|\[)\s*\"([A-Z][A-Z0-9_]+)\""
)


@dataclass(frozen=True)
class Module:
    """A Python file of a tree."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def functions(self) -> Iterator[int]:
        """The lines of each function, with its decorators."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                yield (node.end_lineno or first) - first + 1

    @property
    def public_names(self) -> int:
        return sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
            for node in self.tree.body
        )

    @property
    def sql_lines(self) -> int:
        documentation = {id(each) for node in ast.walk(self.tree) for each in docstrings(node)}
        return sum(
            len(node.value.strip().splitlines())
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
            if SQL.search(node.value)
        )


def docstrings(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield first.value


class Project:
    """A tree's files, as Git lists them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True)
        self.paths = [Path(name) for name in listed.stdout.splitlines()]
        found = [Module(path, (root / path).read_text()) for path in self.paths if path.suffix == ".py"]
        written = [module for module in found if "migrations" not in module.path.parts]
        self.application = [module for module in written if module.path.parts[0] not in BESIDE_THE_APPLICATION]
        self.tests = [module for module in written if module.path.parts[0] == "tests"]

    @property
    def sql_files(self) -> list[str]:
        return [
            (self.root / path).read_text()
            for path in self.paths
            if path.suffix == ".sql" and path.parts[0] not in BESIDE_THE_APPLICATION
        ]

    @property
    def handwritten_answers(self) -> int:
        """Functions that put an answer of the API together beside its serializer."""
        return sum(
            isinstance(node, ast.FunctionDef) and node.name.startswith("present")
            for module in self.application
            for node in ast.walk(module.tree)
        )

    @property
    def environment(self) -> set[str]:
        return {a or b for module in self.application for a, b in ENVIRONMENT.findall(module.text)}


def spread(numbers: list[int]) -> str:
    """Median, 95th percentile and largest."""
    return f"{median(numbers):.0f} / {quantiles(numbers, n=20, method='inclusive')[-1]:.0f} / {max(numbers)}"


def largest_folder(modules: list[Module]) -> str:
    [(folder, number)] = Counter(module.path.parent for module in modules).most_common(1)
    return f"{number} ({folder.as_posix()})"


ROWS: dict[str, Callable[[Project], object]] = {
    "application: files": lambda it: len(it.application),
    "application: lines": lambda it: sum(module.lines for module in it.application),
    "tests: files": lambda it: len(it.tests),
    "tests: lines": lambda it: sum(module.lines for module in it.tests),
    "test lines per application line": lambda it: (
        f"{sum(module.lines for module in it.tests) / sum(module.lines for module in it.application):.2f}"
    ),
    "lines of a function (median / p95 / max)": lambda it: spread(
        [lines for module in it.application for lines in module.functions]
    ),
    "lines of a file (median / p95 / max)": lambda it: spread([module.lines for module in it.application]),
    "modules in the largest folder": lambda it: largest_folder(it.application),
    "public names of a module (median / p95 / max)": lambda it: spread([each.public_names for each in it.application]),
    "files with SQL in Python": lambda it: sum(bool(module.sql_lines) for module in it.application),
    "lines of SQL in Python": lambda it: sum(module.sql_lines for module in it.application),
    "SQL files": lambda it: len(it.sql_files),
    "lines of SQL files": lambda it: sum(len(text.splitlines()) for text in it.sql_files),
    "answers put together beside a serializer": lambda it: it.handwritten_answers,
    "environment variables read": lambda it: len(it.environment),
    "suppressions of linters and types": lambda it: sum(
        len(SUPPRESSION.findall(module.text)) for module in it.application
    ),
}


def table(projects: list[Project]) -> str:
    """The figures of each project, as Markdown."""
    heads = [project.root.resolve().name for project in projects]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(projects) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(figure(each)) for each in projects)} |" for name, figure in ROWS.items()]
    return "\n".join(lines)


def main() -> int:
    roots = [Path(each) for each in sys.argv[1:]] or [Path(__file__).resolve().parent.parent]
    for root in roots:
        if not (root / "manage.py").exists():
            print(f"{root} is no tree of the project: there is no manage.py", file=sys.stderr)
            return 2
    print(table([Project(root) for root in roots]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
