"""The import graph of the project's Python files, read from their source: nothing is run."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

# Caches, environments and data are not part of the project.
HIDDEN_OR_DATA = {"var", "node_modules"}


def python_files(root: Path) -> Iterator[str]:
    """Paths relative to `root`, in Git's notation."""
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        if not any(part.startswith(".") or part in HIDDEN_OR_DATA for part in parts):
            yield path.relative_to(root).as_posix()


def module_name(path: str) -> str:
    """`loyalty/ledger.py` is `loyalty.ledger`, and a package's `__init__.py` the package; `bin` is on the path."""
    return path.removesuffix(".py").removesuffix("/__init__").removeprefix("bin/").replace("/", ".")


def imported_names(source: str, *, package: str) -> set[str]:
    """The names that a file imports anywhere in it; for `from a import b` both, because `b` may be a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def import_graph(root: Path) -> dict[str, set[str]]:
    """The imported names by path."""
    return {
        path: imported_names(
            (root / path).read_text(),
            package=module_name(path) if path.endswith("__init__.py") else module_name(path).rpartition(".")[0],
        )
        for path in python_files(root)
    }


def importers(graph: dict[str, set[str]], paths: Iterable[str]) -> set[str]:
    """The files that import one of `paths` directly."""
    imported = {module_name(path) for path in paths if path.endswith(".py")}
    return {path for path, names in graph.items() if names & imported}
