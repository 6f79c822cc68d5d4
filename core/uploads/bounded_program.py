"""Programs that read uploads: each run is a process of its own, so it never uses the web process's memory or time."""

import subprocess
import sys
from contextlib import ExitStack
from threading import Lock
from time import monotonic
from types import ModuleType

from core.db import row_guard
from core.errors import Unavailable

TURN_SECONDS = 10  # the longest that an upload waits while others are read


class BoundedProgram:
    """A module that runs as a program, for `seconds` at most; it limits its own memory and work.

    A web process runs it in one thread at a time, and of each brand one thread at a time waits for that. So a brand
    with many or slow uploads delays another brand by one run, not by all of them.
    """

    def __init__(self, module: ModuleType, *, seconds: float) -> None:
        self.path = str(module.__file__)
        self.seconds = seconds
        self.turn = Lock()
        self.turns_of_brands: dict[str, Lock] = {}  # by the brands that the database guard names

    def run(self, *arguments: str, content: bytes, busy: str) -> bytes:
        """The program's output for `content`; if it is stopped, its output until then.

        Raises Unavailable with the message `busy` if the turn does not come in time.
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
        command = [sys.executable, "-I", self.path, *arguments]  # -I: ignores the environment and this directory
        try:
            return subprocess.run(
                command, input=content, capture_output=True, timeout=self.seconds, check=False, env={}
            ).stdout
        except subprocess.TimeoutExpired as stopped:
            return stopped.stdout or b""
