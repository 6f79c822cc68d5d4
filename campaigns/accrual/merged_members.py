"""Events of customers whose account was merged into another: they count for the member of the remaining account."""

from datetime import timedelta
from functools import wraps

from events import leases
from events.messages import EventHandler, LeasedEvent, RetryLater
from loyalty.errors import MemberBlocked, MemberMerged
from loyalty.points import accounts


def for_current_member(handler: EventHandler) -> EventHandler:
    """Handle the event. If its account was merged into another, handle it again as an event of that account's member.

    Only an event rejected with MemberMerged costs the look-up of the other account.
    """

    @wraps(handler)
    def handle(event: LeasedEvent) -> None:
        try:
            handler(event)
        except MemberMerged:
            handle(of_current_member(event))

    return handle


def of_current_member(event: LeasedEvent) -> LeasedEvent:
    """The event, stored as the current member's. Raises MemberBlocked if there is none, RetryLater after an undo."""
    current = accounts.current_account(brand_id=event.brand_id, user_id=event.arguments["user_id"])
    if current is None:
        raise MemberBlocked
    if current.user_id == event.arguments["user_id"]:
        raise RetryLater("The merge has been undone.", after=timedelta(0))
    return leases.readdress(event, user_id=current.user_id)
