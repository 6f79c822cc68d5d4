"""Handlers of the wallets lane: a changed balance makes new versions of passes, and updates notify their wallets."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.http import client
from events import leases, messages, publishing
from events.messages import LeasedEvent
from loyalty.models.wallets import Platform, WalletPass
from loyalty.wallets import devices, issuers, passes
from loyalty.wallets.apple import push
from loyalty.wallets.cards import Card, card_of
from loyalty.wallets.errors import WalletUnavailable
from loyalty.wallets.google import api, objects
from loyalty.wallets.issuers import Issuer


class PushFailedError(Exception):
    """The wallet's platform rejected the update."""


# Errors whose text says what staff can do about them.
EXPECTED = (WalletUnavailable, PushFailedError, client.RequestFailedError, messages.RetryLater, api.Rejected)


def on_balance_changed(delivery: LeasedEvent) -> None:
    """Create new versions of a member's passes after their points or level changed, and queue the updates."""
    now = timezone.now()
    account = delivery.payload["user_point_id"]
    with transaction.atomic():
        leases.finish(delivery, at=now)
        updates = passes.account_changed(account=account, brand_id=delivery.brand_id, at=now)
        if updates:
            publishing.publish(messages=updates, brand_id=delivery.brand_id, at=now)


def on_refresh_pass(delivery: LeasedEvent) -> None:
    """Notify the wallet of a pass's newest version. A failure is retried by itself and does not affect points."""
    with passes.leased(pass_id=delivery.payload["pass_id"], brand_id=delivery.brand_id) as wallet_pass:
        if wallet_pass.pushed_version >= wallet_pass.version or wallet_pass.state == WalletPass.State.REMOVED:
            passes.release(wallet_pass=wallet_pass)
            leases.finish(delivery, outcome={"version": wallet_pass.version, "pushed": False})
        else:
            _notify(wallet_pass, delivery)


def _notify(wallet_pass: WalletPass, delivery: LeasedEvent) -> None:
    now = timezone.now()
    with failures_noted(wallet_pass):
        issuer = issuers.usable(brand_id=wallet_pass.brand_id, platform=wallet_pass.platform, at=now)
        pass_fields = (
            push_to_apple(wallet_pass, issuer)
            if wallet_pass.platform == Platform.APPLE
            else update_google_object(wallet_pass, issuer, now)
        )
    issuers.note_success(issuer=issuer)
    with transaction.atomic():
        leases.finish(delivery, outcome={"version": wallet_pass.version, "pushed": True})
        passes.mark_pushed(wallet_pass=wallet_pass, at=timezone.now(), **pass_fields)


def on_expire_pass(delivery: LeasedEvent) -> None:
    """For an erased person: expire Google's object and remove personal data. Does not create a missing object."""
    with passes.leased(pass_id=delivery.payload["pass_id"], brand_id=delivery.brand_id) as wallet_pass:
        with failures_noted(wallet_pass):
            now = timezone.now()
            issuer = issuers.usable(brand_id=wallet_pass.brand_id, platform=wallet_pass.platform, at=now)
            expire_google(wallet_pass, issuer)
        with transaction.atomic():
            passes.mark_pushed(wallet_pass=wallet_pass, at=timezone.now())
            leases.finish(delivery, outcome={"expired": True})


@contextmanager
def failures_noted(wallet_pass: WalletPass) -> Iterator[None]:
    """Store why the block failed. Unexpected errors may quote anything, so only the name of their type is stored."""
    try:
        yield
    except Exception as error:
        text = str(error) if isinstance(error, EXPECTED) else type(error).__name__
        passes.mark_failed(wallet_pass=wallet_pass, error=text, at=timezone.now())
        raise


# --- Apple -----------------------------------------------------------------------------------------------------------


def push_to_apple(wallet_pass: WalletPass, issuer: Issuer) -> dict[str, Any]:
    """Push to devices not notified of this version. Raises RetryLater.

    A device that Apple asks to retry later blocks no other.
    """
    waits: list[push.RetryAfter] = []
    for device in devices.to_notify(wallet_pass):
        match push.push(push_token=device.push_token, keys=issuer.for_apple):
            case push.PushAccepted():
                devices.mark_pushed(device=device, version=wallet_pass.version)
            case push.DeviceGone(since):
                devices.discard_token(brand_id=wallet_pass.brand_id, push_token=device.push_token, at=since)
            case push.RetryAfter() as later:
                waits.append(later)
            case push.KeysRejected(why):
                issuers.note_error(issuer=issuer, error=why, at=timezone.now())
                raise PushFailedError(why)
    if waits:
        raise messages.RetryLater(waits[0].why, after=max(each.after for each in waits))
    return {}


# --- Google ----------------------------------------------------------------------------------------------------------


def update_google_object(wallet_pass: WalletPass, issuer: Issuer, at: datetime) -> dict[str, Any]:
    """Update the brand's class and the member's object. Raises RetryLater."""
    keys = issuer.for_google
    card = card_of(wallet_pass)
    content = objects.loyalty_object(wallet_pass, card, keys.identifier)
    notifies = wallet_pass.pushed_version > 0 and passes.may_notify(wallet_pass=wallet_pass, at=at)
    if notifies:
        content["notifyPreference"] = "NOTIFY_ON_UPDATE"
    try:
        update_class(card, issuer)
        saved = patched(content, issuer)
    except api.Rejected as error:
        _uncount_notification(wallet_pass, notifies=notifies)
        issuers.note_error(issuer=issuer, error=str(error), at=timezone.now())
        raise PushFailedError(str(error)) from error
    except api.RetryAfter as later:
        _uncount_notification(wallet_pass, notifies=notifies)
        raise messages.RetryLater(str(later), after=later.after) from later
    state = WalletPass.State.IN_WALLET if saved.get("hasUsers") else wallet_pass.state
    return {"current_version": wallet_pass.version, "state": state}


def patched(content: dict[str, Any], issuer: Issuer) -> dict[str, Any]:
    """Google's version of the object. Updates silently if the customer's daily notifications are used up."""
    try:
        return api.put(kind="loyaltyObject", content=content, keys=issuer.for_google)
    except api.QuotaExceeded:
        silent = {name: value for name, value in content.items() if name != "notifyPreference"}
        return api.put(kind="loyaltyObject", content=silent, keys=issuer.for_google)


def update_class(card: Card, issuer: Issuer) -> None:
    if issuer.design_pushed >= issuer.design:
        return
    content = objects.loyalty_class(card.design, issuer.for_google.identifier)
    api.put(kind="loyaltyClass", content=content, keys=issuer.for_google)
    issuers.note_design(issuer=issuer)


def _uncount_notification(wallet_pass: WalletPass, *, notifies: bool) -> None:
    """A rejected update reached no device and is not counted. One without a response may have, so it still counts."""
    if notifies:
        passes.undo_notification(wallet_pass=wallet_pass)


def expire_google(wallet_pass: WalletPass, issuer: Issuer) -> None:
    """Raises RetryLater."""
    keys = issuer.for_google
    content = {**objects.loyalty_object(wallet_pass, card_of(wallet_pass), keys.identifier), "state": "EXPIRED"}
    answer = api.call("PATCH", f"loyaltyObject/{content['id']}", content, keys)
    if answer.status == 404:
        return
    try:
        api.read(answer, f"loyaltyObject {content['id']}")
    except api.RetryAfter as later:
        raise messages.RetryLater(str(later), after=later.after) from later
