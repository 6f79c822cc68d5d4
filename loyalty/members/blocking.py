"""Blocking and unblocking members. Their wallet passes are updated too."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from uuid import uuid4

from django.db import transaction

from events import messages, publishing
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts as members
from loyalty.points.balance_events import pass_changed

BRAND = attrgetter("brand_id")


def set_status(*, accounts: Iterable[UserPoints], status: UserPoints.Status, at: datetime) -> list[UserPoints]:
    """Block or unblock accounts. Returns those that this changed. Owns the transaction."""
    with transaction.atomic():
        changed = members.set_status(accounts=accounts, status=status, at=at)
        # Read after the accounts' rows have changed: making a pass waits for their locks.
        passes = WalletPass.objects.filter(account__in=changed).values("account")
        holders = UserPoints.objects.filter(pk__in=passes).order_by("brand_id", "pk")
        for brand_id, several in groupby(holders, key=BRAND):
            updates = [pass_changed(account, cause=f"{account.status}:{account.pk}") for account in several]
            publishing.publish(messages=updates, brand_id=brand_id, at=at)
        for brand_id, several in groupby(sorted(changed, key=BRAND), key=BRAND):
            events = webhook_events_of(brand_id, several, status, at)
            publishing.publish(messages=events, brand_id=brand_id, at=at)
    return changed


def webhook_events_of(
    brand_id: int, accounts: Iterable[UserPoints], status: UserPoints.Status, at: datetime
) -> list[messages.NewEvent]:
    """member.blocked or member.unblocked for each of a brand's accounts, if a webhook subscribes to it.

    Event ids are random: the accounts are locked, and the caller passes only those that it changed.
    """
    kind = WebhookType.MEMBER_BLOCKED if status == UserPoints.Status.BLOCKED else WebhookType.MEMBER_UNBLOCKED
    if not webhook_events.listens(brand_id=brand_id, kind=kind):
        return []
    return [
        webhook_events.webhook_event(kind, {}, brand_id=brand_id, user_id=account.user_id, event_id=uuid4(), at=at)
        for account in accounts
    ]
