"""Generates the typed Python client of the API from docs/openapi.json."""

import os
import sys
import tempfile
from pathlib import Path

from openapi_python_client.cli import app

from published.openapi import FILE

PACKAGE = "loyalty_client"
# Files are given to their callers as they are.
SETTINGS = f"""
project_name_override: {PACKAGE.replace("_", "-")}
package_name_override: {PACKAGE}
post_hooks:
- {sys.executable} -m ruff check --fix-only --quiet --select F,I .
- {sys.executable} -m ruff format --quiet .
content_type_overrides:
  image/png: application/octet-stream
  image/svg+xml: application/octet-stream
  application/vnd.apple.pkpass: application/octet-stream
"""


def generate(to: Path) -> None:
    """Write the package and its pyproject.toml into the directory. Raises SystemExit for anything left out."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Path(directory) / "settings.yaml"
        settings.write_text(SETTINGS)
        where = ["--path", str(FILE), "--output-path", str(to), "--overwrite", "--config", str(settings)]
        # The generator asks whether its hooks are there by their first word alone.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        app(["generate", *where, "--fail-on-warning"], standalone_mode=False)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
    print(f"Generated: {sys.argv[1]}; install it with pip install {sys.argv[1]}")
