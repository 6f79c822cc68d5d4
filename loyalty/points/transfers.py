"""Transfers of points between two members of a brand. Both sides change in one transaction."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from brands.tenants import local_time
from core.db.statements import query, query_values
from core.errors import IdempotencyKeyReused, Invalid, raises
from core.json_values import json_number
from events import messages, publishing
from events.messages import NewEvent
from loyalty.errors import (
    LoyaltyDisabled,
    MemberBlocked,
    NotEnoughPointsForReward,
    ReceiverNotFound,
    TransferLimitReached,
    TransfersNotAllowed,
    UserNotEnrolled,
)
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction, PointTransfer
from loyalty.models.notifications import Template
from loyalty.models.webhooks import WebhookType
from loyalty.points import accounts, ledger
from loyalty.points.balance_events import balances_changed
from loyalty.points.ledger import LIFETIME

ZERO = Decimal(0)
# An arbitrary constant UUID: the namespace of event ids derived from transfers.
EVENT_ID_NAMESPACE = uuid.UUID("7d0f7a43-6c31-4a57-9a39-0f2c9c4be1c8")


@dataclass(frozen=True, slots=True)
class TransferSide:
    """One side of a transfer: its entry, and the account's state after it."""

    account: int
    user_id: int
    loyalty_transaction_id: int
    balance: Decimal
    lifetime: Decimal
    current_level: str


@dataclass(frozen=True, slots=True)
class TransferRequest:
    """A member's request to transfer `points`, once per `key`. `receiver` is None for an invalid number."""

    brand_id: int
    user_id: int
    receiver: int | None
    points: Decimal
    key: uuid.UUID
    at: datetime


TRANSFER_POINTS = query("loyalty/points/sql/transfer_points.sql", returns=TransferSide, lifetime=LIFETIME)
FETCH_RECEIVED = query_values("loyalty/points/sql/fetch_received.sql", "received")


@raises(
    IdempotencyKeyReused,
    LoyaltyDisabled,
    MemberBlocked,
    NotEnoughPointsForReward,
    ReceiverNotFound,
    TransferLimitReached,
    TransfersNotAllowed,
    UserNotEnrolled,
)
def transfer(request: TransferRequest) -> PointTransfer:
    """Move the points. The same request again returns the earlier transfer. Owns the transaction.

    Locks both accounts in the order of their ids, like all code that locks several. Two members who transfer to each
    other at once wait for one another, and the daily limit is exact. An unknown number, another brand's, and a blocked
    member's get the same answer.
    """
    sender = accounts.account_of(brand_id=request.brand_id, user_id=request.user_id)
    if sender is None:
        raise UserNotEnrolled
    receiver = receiver_of(request)
    with transaction.atomic():
        accounts.lock_many(accounts=[sender.pk, *([receiver] if receiver else [])])
        if earlier := PointTransfer.objects.filter(request_key=request.key).first():
            if (earlier.receiver_id, earlier.points) != (receiver, request.points):
                raise IdempotencyKeyReused
            return earlier
        brand = Brand.objects.get(pk=request.brand_id)
        check_sender(sender.pk, brand, request)
        if receiver is None or not can_receive(receiver):
            raise ReceiverNotFound
        check_receiver(receiver, brand, request)
        return move(sender.pk, receiver, request)


def receiver_of(request: TransferRequest) -> int | None:
    """The account with the number at this brand, if any. Raises Invalid for the sender's own."""
    number = request.receiver
    row = UserPoints.objects.filter(pk=number, brand=request.brand_id).first() if number else None
    if row is not None and row.user_id == request.user_id:
        raise Invalid(_("This is your own number. Enter the number of another member."), details={"field": "receiver"})
    return row.pk if row else None


def can_receive(account: int) -> bool:
    rows = UserPoints.objects.filter(pk=account, status=UserPoints.Status.ACTIVE, user__is_active=True)
    return rows.exists()


def check_sender(account: int, brand: Brand, request: TransferRequest) -> None:
    """Raises an error if the member cannot give so many points now. Call with the account locked."""
    sender = UserPoints.objects.get(pk=account)
    if not brand.loyalty_active:
        raise LoyaltyDisabled
    if not brand.transfers_allowed:
        raise TransfersNotAllowed
    accounts.reject_closed(sender.status)
    left = brand.transfer_daily_limit - moved_today("points_redeemed", account, brand, request.at)
    if request.points > left:
        message = _("This brand lets members give %(most)s points a day; you can give %(left)s more today.")
        places = {"most": f"{brand.transfer_daily_limit:,}", "left": f"{json_number(max(ZERO, left)):,}"}
        raise TransferLimitReached(message % places)
    if request.points > sender.points - received_left(account=account):
        raise NotEnoughPointsForReward(
            _("You have too few points of your own. Points from other members cannot be given on.")
        )


def check_receiver(account: int, brand: Brand, request: TransferRequest) -> None:
    """Apply the daily limit to the receiver too, so that one person's many accounts cannot collect more in one."""
    if request.points > brand.transfer_daily_limit - moved_today("points_earned", account, brand, request.at):
        raise TransferLimitReached(_("This member cannot receive so many points today. Try again tomorrow."))


def moved_today(side: str, account: int, brand: Brand, at: datetime) -> Decimal:
    """Points given (`points_redeemed`) or received (`points_earned`) today, by the brand's clock."""
    midnight = local_time.midnight(brand.day_at(at), brand.zone)
    entries = LoyaltyTransaction.objects.filter(
        user_point=account, reason_id__startswith=ledger.TRANSFERRED, created_at__gte=midnight
    )
    moved: Decimal | None = entries.aggregate(moved=Sum(side))["moved"]
    return moved or ZERO


def move(sender: int, receiver: int, request: TransferRequest) -> PointTransfer:
    """Write the transfer, and publish its events. Call with both accounts locked."""
    made = PointTransfer.objects.create(
        brand_id=request.brand_id,
        sender_id=sender,
        receiver_id=receiver,
        points=request.points,
        balance_after=ZERO,
        request_key=request.key,
        created_at=request.at,
    )
    sides = write_sides(
        sender=sender,
        receiver=receiver,
        points=request.points,
        reason_id=f"{ledger.TRANSFERRED}{made.pk}",
        sender_note=gettext_noop("Given to another member"),
        receiver_note=gettext_noop("Received from another member"),
        at=request.at,
    )
    made.balance_after = sides[sender].balance
    made.save(update_fields=["balance_after"])
    following = consequences(made, sides, at=request.at)
    publishing.publish(messages=following, brand_id=request.brand_id, at=request.at)
    return made


def write_sides(
    *,
    sender: int,
    receiver: int,
    points: Decimal,
    reason_id: str,
    sender_note: str,
    receiver_note: str,
    at: datetime,
) -> dict[int, TransferSide]:
    """Move `points` (at most two decimals, above 0) from one account to another. Returns both sides by account.

    They settle what the receiver owes. Call in the caller's transaction, with both accounts locked in the order of
    their ids. The caller ensures that the sender has enough.
    """
    sides = TRANSFER_POINTS.all(
        sender=sender,
        receiver=receiver,
        points=points,
        reason_id=reason_id,
        sender_note=sender_note,
        receiver_note=receiver_note,
        settlement_note=ledger.settlement_note(),
        at=at,
    )
    return {side.account: side for side in sides}


def received_left(*, account: int) -> Decimal:
    """How many points from other members an account still has."""
    left: Decimal = FETCH_RECEIVED.first(account=account) or ZERO
    return left


def consequences(made: PointTransfer, sides: Mapping[int, TransferSide], *, at: datetime) -> list[NewEvent]:
    """Events for wallets and webhooks, for each side, and the receiver's notification."""
    cause = f"{ledger.TRANSFERRED}{made.pk}"
    result = balances_changed(sides.values(), brand_id=made.brand_id, cause=cause, namespace=EVENT_ID_NAMESPACE)
    if webhook_events.listens(brand_id=made.brand_id, kind=WebhookType.POINTS_TRANSFERRED):
        result += [webhook_event_of(made, side, cause, at=at) for side in sides.values()]
    return [*result, notification_of(made, sides[made.receiver_id], cause)]


def webhook_event_of(made: PointTransfer, side: TransferSide, cause: str, *, at: datetime) -> messages.NewEvent:
    points = made.points if side.account == made.receiver_id else -made.points
    data = {
        "points_transferred": json_number(points),
        "new_balance": json_number(side.balance),
        "transaction_id": str(side.loyalty_transaction_id),
        "transfer_id": made.pk,
        "note": gettext_noop("Received from another member") if points > 0 else gettext_noop("Given to another member"),
        "current_level": side.current_level,
        "lifetime_points": json_number(side.lifetime),
        "cause": cause,
    }
    return webhook_events.webhook_event(
        WebhookType.POINTS_TRANSFERRED,
        data,
        brand_id=made.brand_id,
        user_id=side.user_id,
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{cause}:{side.account}"),
        at=at,
    )


def notification_of(made: PointTransfer, side: TransferSide, cause: str) -> messages.NewEvent:
    """Leaves out the sender's name: only the sender may reveal it."""
    return messages.NewEvent(
        kind="notify",
        arguments={"brand_id": made.brand_id, "user_id": side.user_id},
        payload={
            "template": Template.POINTS_RECEIVED.value,
            "points": json_number(made.points),
            "new_balance": json_number(side.balance),
            "cause": cause,
        },
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"notify:{cause}"),
    )
