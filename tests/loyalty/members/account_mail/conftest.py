"""Fixtures of the notification tests: a brand that sends mail, its workers and a mailbox."""

from tests.loyalty.notifications.conftest import box, own, work

__all__ = ["box", "own", "work"]
