"""TypeScript programs that use the generated client: a project of them, compiled strictly and run by Node.js."""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]


def project(directory: Path) -> Path:
    """A directory of programs that use the package, which is made as `bin/docs typescript` makes it."""
    package = directory / "node_modules" / "loyalty-client"
    sys.path.append(str(ROOT / "bin"))
    importlib.import_module("published.typescript").generate(package)
    settings = json.loads((package / "tsconfig.json").read_text())
    settings["compilerOptions"] |= {
        "rootDir": ".",
        "outDir": "out",
        "typeRoots": [str(package / "node_modules/@types")],
    }
    settings["include"] = ["*.ts"]
    (directory / "tsconfig.json").write_text(json.dumps(settings))
    (directory / "package.json").write_text('{"type": "module"}')
    return directory


def compile_project(project: Path) -> "subprocess.CompletedProcess[str]":
    """Compile all programs of a project; the compiler reports errors on `stdout`."""
    compiler = project / "node_modules/loyalty-client/node_modules/.bin/tsc"
    return subprocess.run([compiler, "--project", project], check=False, capture_output=True, text=True)


def run_program(
    project: Path, name: str, *arguments: str, directory: Path, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a compiled program with these arguments."""
    return subprocess.run(
        ["node", project / f"out/{name}.js", *arguments],
        cwd=directory,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
