"""The mailbox that takes what a recall says to customers, and the workers that send it."""

from tests.loyalty.notifications.conftest import box, work

__all__ = ["box", "work"]
