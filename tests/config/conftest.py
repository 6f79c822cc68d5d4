"""The world that hostile requests meet."""

from tests.support.scenarios import scenario, scenarios

__all__ = ["scenario", "scenarios"]
