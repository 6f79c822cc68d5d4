"""Prints figures of one tree of the project, or of several side by side: sizes, names, SQL, settings.

python bin/figures.py [--minutes M,...] [TREE ...]      Markdown, a column per tree; without a tree, this one

A tree is a folder, such as a worktree of an older commit. Nothing in it is run, so their test time is an argument:
`--minutes 13.5,5.8` are the minutes of `bin/test --all`, one figure for each tree.
"""

import argparse
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

NOT_APPLICATION = {"tests", "bench", "bin", "docs", ".ci"}
SUPPRESSION = re.compile(r"#\s*(noqa|type: ignore|pragma: no cover)")
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS)\b[\s\S]*\b(FROM|SET|VALUES|SELECT)\b")
ENVIRONMENT = re.compile(
    r"\benv(?:ironment)?(?:\.\w+)?\(\s*\"([A-Z][A-Z0-9_]+)\"|"
    # Excludes what a WSGI server reads of a request, and what we set for other programs.
    r"\bos\.environ(?:\.get\(\s*\"([A-Z][A-Z0-9_]+)\"|\[\s*\"([A-Z][A-Z0-9_]+)\"\](?!\s*=[^=]))"
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
        """The number of lines of each function, with its decorators."""
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
        modules = [Module(path, (root / path).read_text()) for path in self.paths if path.suffix == ".py"]
        written = [module for module in modules if "migrations" not in module.path.parts]
        self.application = [module for module in written if module.path.parts[0] not in NOT_APPLICATION]
        self.tests = [module for module in written if module.path.parts[0] == "tests"]

    @property
    def sql_files(self) -> list[str]:
        return [
            (self.root / path).read_text()
            for path in self.paths
            if path.suffix == ".sql" and path.parts[0] not in NOT_APPLICATION
        ]

    @property
    def handwritten_answers(self) -> int:
        """Functions that build an API answer by hand besides its serializer."""
        return sum(
            isinstance(node, ast.FunctionDef) and node.name.startswith("present")
            for module in self.application
            for node in ast.walk(module.tree)
        )

    @property
    def serializers(self) -> tuple[int, int]:
        """How many output serializers are used for answers, directly or nested, and how many there are."""
        classes = {
            node.name: node
            for module in self.application
            for node in module.tree.body
            if isinstance(node, ast.ClassDef)
        }
        output = {name for name in classes if "Output" in set(ancestors(name, classes))}
        writing = {name for module in self.application for name in serializing(module.tree)}
        reached = set[str]()
        while writing:
            name = writing.pop()
            if name not in reached and name in classes:
                reached.add(name)
                writing |= {each.id for each in ast.walk(classes[name]) if isinstance(each, ast.Name)}
        return len(output & reached), len(output)

    @property
    def environment(self) -> set[str]:
        return {
            name for module in self.application for match in ENVIRONMENT.findall(module.text) for name in match if name
        }


def ancestors(name: str, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    """The names of all base classes of a class, as far as the tree defines them."""
    for base in classes[name].bases:
        parent = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        yield parent
        if parent in classes and parent != name:
            yield from ancestors(parent, classes)


def serializing(tree: ast.Module) -> Iterator[str]:
    """Names of serializers in use: X.serialize(...), data_output(X), ModelEndpoints(X), serializer_class = X."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "serialize" and isinstance(node.value, ast.Name):
            yield node.value.id
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"data_output", "row_output", "ModelEndpoints"}:
            yield from (each.id for each in node.args if isinstance(each, ast.Name))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            yield from (node.value.id for each in node.targets if ast.unparse(each) == "serializer_class")


def spread(numbers: list[int]) -> str:
    """Median, 95th percentile and largest."""
    return f"{median(numbers):.0f} / {quantiles(numbers, n=20, method='inclusive')[-1]:.0f} / {max(numbers)}"


def largest_folder(modules: list[Module]) -> str:
    """The folder with the most modules. Files that only make a folder a package do not count."""
    counts = Counter(module.path.parent for module in modules if module.path.name != "__init__.py")
    [(folder, number)] = counts.most_common(1)
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
    "output serializers that serialize / all": lambda it: "{} / {}".format(*it.serializers),
    "environment variables read": lambda it: len(it.environment),
    "suppressions of linters and types": lambda it: sum(
        len(SUPPRESSION.findall(module.text)) for module in it.application
    ),
}


def table(projects: list[Project], minutes: list[str]) -> str:
    """The figures of each project, as Markdown."""
    heads = [project.root.resolve().name for project in projects]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(projects) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(figure(each)) for each in projects)} |" for name, figure in ROWS.items()]
    if minutes:
        lines.append(f"| minutes of all tests | {' | '.join(minutes)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Prints what one tree of the project, or several, measure.")
    parser.add_argument("--minutes", default="", help="of all tests, one figure for each tree: 13.5,5.8")
    parser.add_argument("trees", nargs="*", type=Path)
    arguments = parser.parse_args()
    roots = arguments.trees or [Path(__file__).resolve().parent.parent]
    minutes = arguments.minutes.split(",") if arguments.minutes else []
    if minutes and len(minutes) != len(roots):
        print(f"--minutes has {len(minutes)} figures for {len(roots)} trees", file=sys.stderr)
        return 2
    for root in roots:
        if not (root / "manage.py").exists():
            print(f"{root} is no tree of the project: there is no manage.py", file=sys.stderr)
            return 2
    print(table([Project(root) for root in roots], minutes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
