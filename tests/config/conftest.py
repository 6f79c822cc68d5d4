"""The demo command, run as a shell script would run it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

RunDemo = Callable[[], dict[str, Any]]


@pytest.fixture
def credentials_file(settings: Any, tmp_path: Path) -> Path:
    """The file in which this test's demo stores its credentials."""
    settings.DATA_DIR = tmp_path
    settings.HTTPS = False
    settings.CODE_TAG_SECRETS = {1: "x" * 50}
    return tmp_path / "demo.json"


@pytest.fixture
def run_demo(capsys: pytest.CaptureFixture[str]) -> RunDemo:
    """What `manage.py demo --json` prints."""

    def run() -> dict[str, Any]:
        capsys.readouterr()
        call_command("demo", "--json")
        output: dict[str, Any] = json.loads(capsys.readouterr().out)
        return output

    return run
