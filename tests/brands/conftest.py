"""Threads that start together and leave no database connection behind, and the world that requests meet."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from tests.support.scenarios import scenario, scenarios

__all__ = ["at_once", "scenario", "scenarios"]


@pytest.fixture
def at_once() -> Callable[[int, Callable[[], Any]], list[Any]]:
    """`at_once(count, action)`: what `action` returned or raised, in `count` threads released together."""
    return run_at_once


def run_at_once(count: int, action: Callable[[], Any]) -> list[Any]:
    barrier = Barrier(count)

    def run() -> Any:
        try:
            barrier.wait()
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(run) for _ in range(count)]
        return [future.exception() or future.result() for future in futures]
