"""Passes: who was given which, what has changed, what is known to hold it. The only code that writes WalletPass."""

import secrets
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from core.db.statements import command, part, query, query_values
from core.lease_keeper import Keeper
from events import leases, messages, publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import Platform, WalletPass
from loyalty.points import accounts

KIND, EXPIRE = "refresh-pass", "expire-pass"
# For how long a pass is a worker's that renews nothing: one that was killed. A living one renews it as often as this.
BUSY_SECONDS, RENEW_SECONDS = 8.0, 2.0
PORTION = 1000
NOTIFICATION_PERIOD = timedelta(hours=24)
MAX_NOTIFICATIONS = 3  # Google's limit of notifications per pass


@dataclass(frozen=True, slots=True)
class Changed:
    """A pass with a new version, and whether its update is yet to be queued."""

    pk: int
    user_id: int
    version: int
    is_first: bool


NEXT_VERSION = part("loyalty/wallets/sql/set_next_version.sql")
CHANGE_PASSES_OF_ACCOUNT = query(
    "loyalty/wallets/sql/change_passes_of_account.sql", returns=Changed, next_version=NEXT_VERSION
)
CHANGE_PASSES = query("loyalty/wallets/sql/change_passes.sql", returns=Changed, next_version=NEXT_VERSION)
TAKE_PASS = query_values("loyalty/wallets/sql/take_pass.sql", "id")
RENEW_PASSES = command("loyalty/wallets/sql/renew_passes.sql")


def issue(*, account: UserPoints, platform: str, at: datetime) -> tuple[WalletPass, bool]:
    """The member's pass for the platform, made now if there was none (True). Owns the transaction.

    A new one changes the account's row too: an accrual that was decided before knew of no pass, and must be decided
    again, or nobody would tell the wallet of it.
    """
    known = WalletPass.objects.filter(account=account, platform=platform).first()
    if known:
        return known, False
    with transaction.atomic():
        accounts.touch(account=account.pk, at=at)
        return WalletPass.objects.get_or_create(
            account=account,
            platform=platform,
            defaults={"brand_id": account.brand_id, "token": secrets.token_urlsafe(32), "changed_at": at},
        )


def account_changed(*, account: int, brand_id: int, at: datetime) -> list[messages.NewEvent]:
    """New versions of a member's passes; returns the updates to publish. Call inside a transaction."""
    changed = CHANGE_PASSES_OF_ACCOUNT.all(account=account, brand=brand_id, at=at)
    return [refresh(each, brand_id) for each in changed if each.is_first]


def bump_versions(*, passes: Sequence[int], brand_id: int, at: datetime) -> list[messages.NewEvent]:
    """The same for these passes of a brand."""
    changed = CHANGE_PASSES.all(passes=list(passes), brand=brand_id, at=at)
    return [refresh(each, brand_id) for each in changed if each.is_first]


def refresh(changed: Changed, brand_id: int, *, wait_seconds: float | None = None) -> messages.NewEvent:
    """The update of a pass, a moment later, so that a burst of changes becomes one."""
    return messages.NewEvent(
        kind=KIND,
        payload={"pass_id": changed.pk, "version": changed.version},
        arguments={"brand_id": brand_id, "user_id": changed.user_id},
        event_id=uuid.uuid5(messages.EVENT_ID_NAMESPACE, f"{KIND}:{changed.pk}:{changed.version}"),
        wait_seconds=settings.WALLET_MERGE_SECONDS if wait_seconds is None else wait_seconds,
    )


def refresh_all(*, brand_id: int, platform: str = "", behind: bool = False, at: datetime) -> int:
    """New versions of all of a brand's passes that somebody may hold, in portions; returns how many.

    `behind`: only of those whose last version nobody took. A portion is a transaction: run again after a crash, and
    what was queued already is still queued once.
    """
    rows = WalletPass.objects.filter(brand_id=brand_id).exclude(state=WalletPass.State.REMOVED)
    if platform:
        rows = rows.filter(platform=platform)
    if behind:
        rows = rows.filter(pushed_version__lt=F("version"))
    last, count = 0, 0
    while portion := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:PORTION]):
        with transaction.atomic():
            messages = bump_versions(passes=portion, brand_id=brand_id, at=at)
            publishing.publish(messages=messages, brand_id=brand_id, at=at)
        last, count = portion[-1], count + len(portion)
    return count


@contextmanager
def leased(*, pass_id: int, brand_id: int) -> Iterator[WalletPass | None]:
    """The pass, for the block alone until `mark_pushed` or `mark_failed`, or BUSY_SECONDS after this process died.

    None: the brand has no such pass. Raises RetryLater while another worker has it. No transaction may outlast the
    block: what it has locked could not be renewed.
    """
    if TAKE_PASS.first(id=pass_id, brand=brand_id, busy=BUSY_SECONDS) is None:
        if WalletPass.objects.filter(pk=pass_id, brand_id=brand_id).exists():
            raise messages.RetryLater("another worker is talking about this pass", after=timedelta(seconds=3))
        yield None
        return
    with keeper.holding([(pass_id, brand_id)]):
        yield WalletPass.objects.get(pk=pass_id)


def _renew(leases: Sequence[tuple[int, int]]) -> None:
    ids, brands = zip(*leases, strict=True)
    try:
        RENEW_PASSES.run(ids=list(ids), brands=list(brands), busy=BUSY_SECONDS)
    finally:
        connection.close()  # seldom needed, and every process would keep one more


keeper = Keeper[tuple[int, int]]("wallet passes", every=RENEW_SECONDS, renew=_renew)


def mark_pushed(*, wallet_pass: WalletPass, at: datetime, **also: Any) -> None:
    """The wallets have heard of this version."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        pushed_version=Greatest("pushed_version", wallet_pass.version),
        pushed_at=at,
        busy_until=None,
        last_error="",
        failed_at=None,
        **also,
    )


def release(*, wallet_pass: WalletPass) -> None:
    """End the lease: the pass had no change to push."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(busy_until=None)


def mark_failed(*, wallet_pass: WalletPass, error: str, at: datetime) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        busy_until=None, last_error=leases.readable(error), failed_at=at
    )


def mark_downloaded(*, wallet_pass: WalletPass) -> None:
    """The customer was given this version; whether it came into a wallet, nobody has said yet."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(current_version=Greatest("current_version", wallet_pass.version))


def mark_fetched(*, wallet_pass: WalletPass, at: datetime) -> None:
    """A device has this version."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(current_version=Greatest("current_version", wallet_pass.version), fetched_at=at)


def set_state(*, wallet_pass: WalletPass, state: WalletPass.State) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).exclude(state=state).update(state=state)


def may_notify(*, wallet_pass: WalletPass, at: datetime) -> bool:
    """Whether Google may still notify the customer today; if so, that it was told to is on record from here on."""
    recent = [moment for moment in wallet_pass.notified_at if datetime.fromisoformat(moment) > at - NOTIFICATION_PERIOD]
    if len(recent) >= MAX_NOTIFICATIONS:
        return False
    wallet_pass.notified_at = [*recent, at.isoformat()]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(notified_at=wallet_pass.notified_at)
    return True


def undo_notification(*, wallet_pass: WalletPass) -> None:
    """Google refused the call that would have notified the customer."""
    wallet_pass.notified_at = wallet_pass.notified_at[:-1]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(notified_at=wallet_pass.notified_at)


def of_serial(*, serial: uuid.UUID, identifier: str) -> WalletPass | None:
    """The Apple pass with this serial of the pass type that its brand makes."""
    own = {"brand__wallet_issuers__platform": Platform.APPLE, "brand__wallet_issuers__identifier": identifier}
    return WalletPass.objects.filter(serial=serial, platform=Platform.APPLE, **own).first()


def revoke(*, passes: Iterable[WalletPass], to: int) -> list[messages.NewEvent]:
    """For the erasure of a person's data: no device has the passes' token any more. Returns what Google is to hear."""
    passes = list(passes)
    for each in passes:
        WalletPass.objects.filter(pk=each.pk).update(
            token=secrets.token_urlsafe(32),
            state=WalletPass.State.REMOVED,
            queued_version=None,
            notified_at=[],
            last_error="",
        )
    return [
        messages.NewEvent(
            kind=EXPIRE, payload={"pass_id": each.pk}, arguments={"brand_id": each.brand_id, "user_id": to}
        )
        for each in passes
        if each.platform == Platform.GOOGLE
    ]
