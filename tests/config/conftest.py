"""The demo, asked for as a shell asks for it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

Ask = Callable[[], dict[str, Any]]


@pytest.fixture
def kept(settings: Any, tmp_path: Path) -> Path:
    """Where this test's demo keeps its credentials; a slow hash would only make the tests slow."""
    settings.DATA_DIR = tmp_path
    settings.HTTPS = False
    settings.CODE_TAG_SECRETS = {1: "x" * 50}
    return tmp_path / "demo.json"


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """What `manage.py demo --json` prints."""

    def run_demo() -> dict[str, Any]:
        capsys.readouterr()
        call_command("demo", "--json")
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run_demo
