"""Programs that read uploads: each run is a process of its own, so what it takes is never the web process's."""

import subprocess
import sys
from contextlib import ExitStack
from threading import Lock
from time import monotonic
from types import ModuleType

from core.db import row_guard
from core.errors import Unavailable

TURN_SECONDS = 10  # that an upload waits while others are read


class BoundedProgram:
    """A module that is run as a program, for `seconds` at most; it sets bounds to its own memory and work.

    Of a web process's threads one runs it at a time, and of a brand's one at a time waits for that: a brand that
    uploads much, and what takes long, keeps another waiting for one run, not for all of them.
    """

    def __init__(self, module: ModuleType, *, seconds: float) -> None:
        self.path = str(module.__file__)
        self.seconds = seconds
        self.turn = Lock()
        self.turns_of_brands: dict[str, Lock] = {}  # by the brands that the database guard names

    def run(self, *arguments: str, content: bytes, busy: str) -> bytes:
        """What the program answers to `content`; where it is stopped, what it answered until then.

        Raises Unavailable with the message `busy` where the turn does not come.
        """
        scope, until = row_guard.current(), monotonic() + TURN_SECONDS
        of_brands = self.turns_of_brands.setdefault(scope.brand_ids if scope else "", Lock())
        with ExitStack() as turns:
            for turn in (of_brands, self.turn):
                if not turn.acquire(timeout=max(0, until - monotonic())):
                    raise Unavailable(busy)
                turns.callback(turn.release)
            return self._run(arguments, content)

    def _run(self, arguments: tuple[str, ...], content: bytes) -> bytes:
        command = [sys.executable, "-I", self.path, *arguments]  # -I: nothing from the environment or this directory
        try:
            return subprocess.run(
                command, input=content, capture_output=True, timeout=self.seconds, check=False, env={}
            ).stdout
        except subprocess.TimeoutExpired as stopped:
            return stopped.stdout or b""
