"""A brand that writes to its customers, and the mailbox that takes it."""

from tests.loyalty.notifications.conftest import box, own, work

__all__ = ["box", "own", "work"]
