"""Returns the points and the stock of a redemption."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.utils.translation import gettext_noop

from core.json_values import json_number
from events import publishing
from events.messages import NewEvent
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.webhooks import WebhookType
from loyalty.points import ledger
from loyalty.points.balance_events import balance_changed
from loyalty.points.ledger import Credit

ZERO = Decimal(0)
# An arbitrary constant UUID: the namespace of event ids derived from redemptions and claims.
EVENT_ID_NAMESPACE = uuid.UUID("5b0c6a0e-6d0b-4d0e-9a55-2f3f7f1c9c41")


def following_id(cause: str) -> uuid.UUID:
    """The id of the event for wallets, unique per cause."""
    return uuid.uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{cause}")


def reverse(redemption: Redemption, account: UserPoints, at: datetime) -> bool:
    """Cancel an unused redemption, with its points and stock. Returns False if used. Call with the account locked."""
    unused = Redemption.objects.filter(pk=redemption.pk, status=Redemption.Status.ISSUED)
    if not unused.update(status=Redemption.Status.CANCELLED, cancelled_at=at):
        return False
    line = return_points(redemption, account, at) if redemption.cost else None
    Reward.objects.filter(redemptions=redemption, stock__isnull=False).update(stock=F("stock") + 1)
    publishing.publish(messages=webhook_events_of(redemption, account, line, at), brand_id=account.brand_id, at=at)
    return True


def note_of(redemption: Redemption) -> str:
    return gettext_noop("Cancelled: %(reward)s") % {"reward": redemption.name}


def return_points(redemption: Redemption, account: UserPoints, at: datetime) -> Credit:
    line = ledger.return_points(
        account=account.pk, points=redemption.cost, redemption_id=redemption.pk, note=note_of(redemption), at=at
    )
    cause = f"{ledger.RETURNED}{redemption.pk}"
    message = balance_changed(
        brand_id=account.brand_id,
        user_id=account.user_id,
        account=account.pk,
        points=line.balance,
        level=line.current_level,
        cause=cause,
        event_id=following_id(cause),
    )
    publishing.publish(messages=[message], brand_id=account.brand_id, at=at)
    return line


def webhook_events_of(redemption: Redemption, account: UserPoints, line: Credit | None, at: datetime) -> list[NewEvent]:
    """reward.cancelled and, if the redemption cost points, points.returned, for the subscribed webhooks."""
    data: dict[WebhookType, dict[str, Any]] = {}
    if line:
        data[WebhookType.POINTS_RETURNED] = {
            "points_returned": json_number(redemption.cost),
            "new_balance": json_number(line.balance),
            "transaction_id": str(line.loyalty_transaction_id),
            "redemption_id": redemption.pk,
            "note": note_of(redemption),
            "current_level": line.current_level,
            "lifetime_points": json_number(line.lifetime),
            "cause": f"{ledger.RETURNED}{redemption.pk}",
        }
    data[WebhookType.REWARD_CANCELLED] = {
        "redemption_id": redemption.pk,
        "reward_id": redemption.reward_id,
        "points": json_number(redemption.cost),
        "new_balance": json_number(line.balance if line else account.points),
    }
    listened = webhook_events.listened_at(account.brand_id)
    common: dict[str, Any] = {"brand_id": account.brand_id, "user_id": account.user_id, "at": at}
    return [
        webhook_events.webhook_event(
            kind, each, event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{kind}:{redemption.pk}"), **common
        )
        for kind, each in data.items()
        if kind in listened
    ]
