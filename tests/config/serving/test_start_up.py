"""What a web process does before its first request."""

import os
import subprocess
import sys

from django.conf import settings

from tests.config.serving.test_slow_statements import SETTINGS

STATE = "import gc, sys; print('config.urls' in sys.modules, gc.get_freeze_count() > 100_000)"


def test_web_process_loads_all_urls_and_freezes_its_objects() -> None:
    environment = {**SETTINGS, "PATH": os.environ["PATH"]}

    states = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=settings.BASE_DIR,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for code in (f"import config.wsgi; {STATE}", STATE)
    ]

    assert states == [["True", "True"], ["False", "False"]]
