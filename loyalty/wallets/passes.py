"""Passes: their versions, updates and state. The only code that writes WalletPass."""

import secrets
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from core.db.statements import command, part, query, query_values
from core.errors import NotFound
from core.lease_keeper import Keeper
from events import leases, messages, publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import Platform, WalletPass
from loyalty.points import accounts

KIND, EXPIRE = "refresh-pass", "expire-pass"
# How long a lease lasts without renewal, after its worker died; and how often a live worker renews it.
BUSY_SECONDS, RENEW_SECONDS = 8.0, 2.0
PORTION = 1000
NOTIFICATION_PERIOD = timedelta(hours=24)
MAX_NOTIFICATIONS = 3  # Google's limit of notifications per pass


@dataclass(frozen=True, slots=True)
class Changed:
    """A pass with a new version, and whether its update must be queued."""

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
    """The member's pass for the platform, and whether it is new. Creates it if there is none. Owns the transaction.

    A new pass also touches the account's row: a concurrent accrual knows of no pass, and must be decided again so that
    the wallet is notified.
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
    """Create new versions of a member's passes. Returns the updates to publish. Call in a transaction."""
    changed = CHANGE_PASSES_OF_ACCOUNT.all(account=account, brand=brand_id, at=at)
    return [refresh(each, brand_id) for each in changed if each.is_first]


def bump_versions(*, passes: Sequence[int], brand_id: int, at: datetime) -> list[messages.NewEvent]:
    """Like `account_changed`, for these passes of a brand."""
    changed = CHANGE_PASSES.all(passes=list(passes), brand=brand_id, at=at)
    return [refresh(each, brand_id) for each in changed if each.is_first]


def refresh(changed: Changed, brand_id: int, *, wait_seconds: float | None = None) -> messages.NewEvent:
    """The event that updates a pass. It waits a moment, so that a burst of changes becomes one update."""
    return messages.NewEvent(
        kind=KIND,
        payload={"pass_id": changed.pk, "version": changed.version},
        arguments={"brand_id": brand_id, "user_id": changed.user_id},
        event_id=uuid.uuid5(messages.EVENT_ID_NAMESPACE, f"{KIND}:{changed.pk}:{changed.version}"),
        wait_seconds=settings.WALLET_MERGE_SECONDS if wait_seconds is None else wait_seconds,
    )


def refresh_all(*, brand_id: int, platform: str = "", behind: bool = False, at: datetime) -> int:
    """Create new versions of all of a brand's passes that may be in a wallet. Returns how many.

    `behind` selects only passes whose last version was not pushed. Each portion is a transaction, so it can be run
    again after a crash: an update is queued only once.
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
def leased(*, pass_id: int, brand_id: int) -> Iterator[WalletPass]:
    """Lease the pass for the block, until `mark_pushed` or `mark_failed`, or BUSY_SECONDS after this process died.

    Raises NotFound if the brand has no such pass, and RetryLater while another worker has it. No transaction may
    outlast the block, because a row that it locks cannot be renewed.
    """
    if TAKE_PASS.first(id=pass_id, brand=brand_id, busy=BUSY_SECONDS) is None:
        if WalletPass.objects.filter(pk=pass_id, brand_id=brand_id).exists():
            raise messages.RetryLater("another worker has leased this pass", after=timedelta(seconds=3))
        raise NotFound(_("The brand has no such pass."))
    with keeper.holding([(pass_id, brand_id)]):
        try:
            wallet_pass = WalletPass.objects.get(pk=pass_id)
        except ImproperlyConfigured as error:  # the secret that encrypted its token is missing
            mark_failed(wallet_pass=WalletPass(pk=pass_id), error=str(error), at=timezone.now())
            raise
        yield wallet_pass


def _renew(leases: Sequence[tuple[int, int]]) -> None:
    ids, brands = zip(*leases, strict=True)
    try:
        RENEW_PASSES.run(ids=list(ids), brands=list(brands), busy=BUSY_SECONDS)
    finally:
        connection.close()  # rarely used, and each process would keep another connection open


keeper = Keeper[tuple[int, int]]("wallet passes", every=RENEW_SECONDS, renew=_renew)


def mark_pushed(*, wallet_pass: WalletPass, at: datetime, **pass_fields: Any) -> None:
    """Record that the wallets were notified of this version."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        pushed_version=Greatest("pushed_version", wallet_pass.version),
        pushed_at=at,
        busy_until=None,
        last_error="",
        failed_at=None,
        **pass_fields,
    )


def release(*, wallet_pass: WalletPass) -> None:
    """End the lease: the pass had no change to push."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(busy_until=None)


def mark_failed(*, wallet_pass: WalletPass, error: str, at: datetime) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        busy_until=None, last_error=leases.readable(error), failed_at=at
    )


def mark_downloaded(*, wallet_pass: WalletPass) -> None:
    """Record that the customer downloaded this version. It may not be in a wallet yet."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(current_version=Greatest("current_version", wallet_pass.version))


def mark_fetched(*, wallet_pass: WalletPass, at: datetime) -> None:
    """Record that a device fetched this version."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(current_version=Greatest("current_version", wallet_pass.version), fetched_at=at)


def set_state(*, wallet_pass: WalletPass, state: WalletPass.State) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).exclude(state=state).update(state=state)


def may_notify(*, wallet_pass: WalletPass, at: datetime) -> bool:
    """Whether Google may still notify the customer today. If so, records the notification."""
    recent = [moment for moment in wallet_pass.notified_at if datetime.fromisoformat(moment) > at - NOTIFICATION_PERIOD]
    if len(recent) >= MAX_NOTIFICATIONS:
        return False
    wallet_pass.notified_at = [*recent, at.isoformat()]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(notified_at=wallet_pass.notified_at)
    return True


def undo_notification(*, wallet_pass: WalletPass) -> None:
    """Google rejected the call that would have notified the customer."""
    wallet_pass.notified_at = wallet_pass.notified_at[:-1]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(notified_at=wallet_pass.notified_at)


def of_serial(*, serial: uuid.UUID, identifier: str) -> WalletPass | None:
    """The Apple pass with this serial, if the pass type is its brand's."""
    own = {"brand__wallet_issuers__platform": Platform.APPLE, "brand__wallet_issuers__identifier": identifier}
    return WalletPass.objects.filter(serial=serial, platform=Platform.APPLE, **own).first()


def revoke(*, passes: Iterable[WalletPass], to: int) -> list[messages.NewEvent]:
    """For the erasure of personal data: invalidate the passes' tokens. Returns the events for Google."""
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
