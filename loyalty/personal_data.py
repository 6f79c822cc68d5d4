"""A person's data in the programme: notifications, wallet passes, webhook deliveries, consents, and the account."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from brands.models.people import User
from core.json_values import iso
from core.personal_data import Topic, rows, table
from events import publishing
from loyalty.integrations import webhook_delivery, webhook_events
from loyalty.members import confirmations, consents
from loyalty.members.listing import refresh
from loyalty.members.moving_in import opening_balances
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import AMOUNTS, AccountMerge, LoyaltyTransaction, PointTransfer
from loyalty.models.levels import LevelChange
from loyalty.models.members.birthdays import Birthday
from loyalty.models.members.consents import Consent
from loyalty.models.members.member_notes import MemberNote
from loyalty.models.notifications import Channel, Device, NotificationDelivery
from loyalty.models.orders import CreditedOrder, OrderReturn
from loyalty.models.programme.referrals import Referral, ReferralCode
from loyalty.models.rewards import Redemption
from loyalty.models.wallets import WalletPass
from loyalty.models.webhooks import WebhookDelivery
from loyalty.notifications import batching, delivery, devices, preferences, suppression
from loyalty.points import accounts, orders
from loyalty.referrals import codes
from loyalty.wallets import devices as wallet_devices
from loyalty.wallets import passes


def accounts_of(user_id: int, brand_id: int) -> list[int]:
    """The person's account at the brand, and those that were merged into it; empty without an account."""
    account = accounts.account_of(brand_id=brand_id, user_id=user_id)
    return account.ledger_accounts if account else []


def export_notifications(user_id: int, brand_id: int) -> dict[str, Any]:
    """Preferences, devices, and what was sent, when and by which channel."""
    choices = preferences.read(user_id, brand_id)
    own_rows = {"user_id": user_id, "brand_id": brand_id}
    return {
        "language": choices.language,
        "phone": choices.phone,
        "notifications": choices.switches(),
        "devices": [
            {"platform": device.platform, "token": device.token, "registered_at": iso(device.registered_at)}
            for device in Device.objects.filter(**own_rows).order_by("id")
        ],
        "sent": (
            {
                "template": row.template,
                "channel": row.channel,
                "address": row.masked_address,
                "status": row.status,
                "at": iso(row.created_at),
            }
            for row in rows(NotificationDelivery.objects.filter(**own_rows).order_by("id"))
        ),
    }


def erase_notifications(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Call before the person's e-mail address is removed, because it finds the suppressed address."""
    with transaction.atomic():
        email = User.objects.values_list("email", flat=True).get(pk=user_id)
        phone = preferences.read(user_id, brand_id).phone
        suppression.erase(brand_id=brand_id, addresses=[(Channel.EMAIL, email), (Channel.SMS, phone)])
        batching.erase(user_id, brand_id, to=to, at=at)
        delivery.erase(user_id, brand_id, to=to, at=at)
        devices.erase(user_id, brand_id)
        preferences.erase(user_id, brand_id)


def export_wallets(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """The passes, and on how many devices each is installed."""
    wallet_passes = WalletPass.objects.filter(account__user_id=user_id, brand_id=brand_id).order_by("id")
    return [
        {
            "platform": each.platform,
            "serial": str(each.serial),
            "state": each.state,
            "created_at": iso(each.created_at),
            "devices": each.devices.count(),
        }
        for each in wallet_passes
    ]


def erase_wallets(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Reject requests of devices with the pass from now on, and have an event expire Google's object."""
    wallet_passes = list(WalletPass.objects.filter(account__user_id=user_id, brand_id=brand_id))
    messages = passes.revoke(passes=wallet_passes, to=to)  # locks the passes first, as a device registration does
    wallet_devices.delete_all(wallet_passes)
    publishing.publish(messages=messages, brand_id=brand_id, at=at)


def export_webhooks(user_id: int, brand_id: int) -> Iterator[dict[str, Any]]:
    """Webhook deliveries about the person that are still in the log, newest first."""
    customer_rows = WebhookDelivery.objects.filter(user_id=user_id, brand_id=brand_id).order_by("-id")
    return (
        {
            "type": message.type,
            "data": json.loads(message.body)["data"],
            "state": message.state,
            "at": iso(message.created_at),
        }
        for message in rows(customer_rows)
    )


def erase_webhooks(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    """Retain that something was sent, without its content. Unsent deliveries are dropped."""
    webhook_delivery.purge_answers(webhook_events.erase_user(user_id=user_id, brand_id=brand_id, at=at))


def export_account(user_id: int, brand_id: int) -> dict[str, Any]:
    """The person, the account at the brand, its ledger, orders and rewards."""
    at_brand = {"user_id": user_id, "brand_id": brand_id}
    account_ids = accounts_of(user_id, brand_id)
    of_accounts = {"user_point__in": account_ids}
    # Orders know the user alone; one without an account may have some.
    users = UserPoints.objects.filter(pk__in=account_ids).values("user_id") if account_ids else [user_id]
    of_users = {"user_id__in": users, "brand_id": brand_id}
    merges = AccountMerge.objects.filter(Q(target__user=user_id) | Q(source__user=user_id), brand_id=brand_id)
    # Leaves out when they registered, logged in or confirmed their address, and their own names if the brand corrected
    # them, because all this may concern other brands.
    user = User.objects.get(pk=user_id)
    first_name, last_name = accounts.names_of(user, brand_id)
    account = UserPoints.objects.filter(**at_brand).values(
        "points",
        "points_earned",
        "points_redeemed",
        "points_expired",
        "points_reversed",
        "points_pending",
        "points_owed",
        "current_level",
        "points_before_period",
        "period_from",
        "level_until",
        "status",
        "enrolled_at",
        "external_id",
        "first_name",
        "last_name",
    )
    entries = LoyaltyTransaction.objects.filter(**of_accounts).values(
        "created_at", "reason", "reason_id", *AMOUNTS, "note"
    )
    sent = PointTransfer.objects.filter(sender__in=account_ids).order_by("id")
    received = PointTransfer.objects.filter(receiver__in=account_ids).order_by("id")
    orders_credited = CreditedOrder.objects.filter(**of_users).order_by("id")
    returned = OrderReturn.objects.filter(**of_users).order_by("id")
    redemptions = Redemption.objects.filter(**of_accounts)
    return {
        "person": {"email": user.email, "first_name": first_name, "last_name": last_name},
        "account": account.first(),
        "merges": rows(merges.order_by("id").values("points", "created_at", "undone_at")),
        "transactions": rows(entries),
        "opening_balances": rows(OpeningBalance.objects.filter(**at_brand).values("points", "note", "created_at")),
        "points_given": rows(sent.values("points", "created_at")),
        "points_received": rows(received.values("points", "created_at")),
        "orders": rows(orders_credited.values("order_id", "amount", "currency", "items", "credited_at")),
        "level_changes": rows(
            LevelChange.objects.filter(**of_accounts)
            .order_by("id")
            .values("level_before", "level_after", "reason", "points", "level_until", "created_at")
        ),
        "returns": rows(returned.values("order_id", "return_id", "kind", "status", "amount", "created_at")),
        "redemptions": rows(
            redemptions.values("name", "cost", "code", "status", "created_at", "used_at", "cancelled_at")
        ),
    }


def erase_account(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Reassign the account, with its ledger, orders and redemptions, to the pseudonym, and close it."""
    confirmations.erase_user(user_id, brand_id)
    refresh.erase(user_id=user_id, brand_id=brand_id)
    merges = AccountMerge.objects.filter(Q(target__user=user_id) | Q(source__user=user_id), brand_id=brand_id)
    merges.update(note="")
    # Includes notes on accounts that were merged into this one.
    MemberNote.objects.filter(account__in=accounts_of(user_id, brand_id)).delete()
    opening_balances.erase(user_id=user_id, brand_id=brand_id)
    orders.reassign_to_pseudonym(user_id=user_id, brand_id=brand_id, to=to)
    accounts.reassign_to_pseudonym(user_id=user_id, brand_id=brand_id, to=to, at=at)


def export_referrals(user_id: int, brand_id: int) -> dict[str, Any]:
    """The person's own code, the friends they referred, and their referrer, without the identities of these people."""
    fields = ("state", "created_at", "decided_at")
    account_ids = accounts_of(user_id, brand_id)
    brought = Referral.objects.filter(referrer__in=account_ids).order_by("id")
    own = Referral.objects.filter(friend__in=account_ids).order_by("id")
    own_code = ReferralCode.objects.filter(account__user_id=user_id, brand_id=brand_id)
    return {
        "code": own_code.values("code", "created_at").first(),
        "friends": rows(brought.values(*fields, "referrer_points")),
        "joined_through_a_friend": rows(own.values(*fields, "friend_points", "action")),
    }


def erase_referrals(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    """Delete the code. Referrals remain, like the ledger, between accounts of the pseudonym."""
    codes.erase(user_id=user_id, brand_id=brand_id)


NOTIFICATIONS = Topic(export_notifications, erase_notifications)
WALLETS = Topic(export_wallets, erase_wallets)
WEBHOOKS = Topic(export_webhooks, erase_webhooks)
BIRTHDAY = table(Birthday, "month", "day", "set_at", stays=False)
REFERRALS = Topic(export_referrals, erase_referrals)
CONSENTS = Topic(consents.export, table(Consent, stays=False).erase)
ACCOUNT = Topic(export_account, erase_account)
