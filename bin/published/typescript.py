"""Generates the typed TypeScript client of the API from docs/openapi.json. Needs Node.js 18 or newer with npm."""

import shutil
import subprocess
import sys
from pathlib import Path

from published.openapi import FILE

PACKAGE = Path(__file__).parent / "typescript"


def generate(to: Path) -> None:
    """Write the built package into the directory. Raises SystemExit if npm is missing or fails."""
    if not shutil.which("npm"):
        raise SystemExit("npm is needed. On Debian, as root: apt-get install -y nodejs npm")
    shutil.copytree(PACKAGE, to, dirs_exist_ok=True)
    run(to, "ci", "--no-audit", "--no-fund", "--silent")
    # By default it would require every field of a body that has a default.
    schema = ("openapi-typescript", str(FILE), "--output", "src/api.ts", "--default-non-nullable", "false")
    run(to, "exec", "--", *schema)
    run(to, "run", "build", "--silent")


def run(directory: Path, *command: str) -> None:
    if code := subprocess.run(["npm", *command], cwd=directory, check=False).returncode:
        raise SystemExit(code)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
    print(f"Generated: {sys.argv[1]}; install it with npm install {sys.argv[1]}")
