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

from core.db import sql
from core.lease_keeper import Keeper
from events import leases, messages, publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import Platform, WalletPass
from loyalty.points import accounts

KIND, EXPIRE = "refresh-pass", "expire-pass"
# For how long a pass is a worker's that renews nothing: one that was killed. A living one renews it as often as this.
BUSY_SECONDS, RENEW_SECONDS = 8.0, 2.0
PORTION = 1000
TOLD_WITHIN = timedelta(hours=24)
TOLD_AT_MOST = 3  # Google's limit of notifications per pass

# One more version. An update that waits already will bring this one too: only the first of a burst queues one.
# If-Modified-Since knows whole seconds, so no two versions share one. What nobody holds is not pushed.
CHANGED = """
    UPDATE loyalty_walletpass
       SET version = version + 1,
           changed_at = GREATEST(%(at)s::timestamptz, date_trunc('second', changed_at) + interval '1 second'),
           queued_version = CASE WHEN platform = 'apple' AND state <> 'held' THEN NULL
                                 ELSE coalesce(queued_version, version + 1) END
      FROM user_points m
     WHERE m.user_point_id = loyalty_walletpass.account_id AND loyalty_walletpass.brand_id = %(brand)s::bigint
       AND {which}
    RETURNING loyalty_walletpass.id, m.user_id, version, queued_version
"""
OF_ACCOUNT = CHANGED.format(which="account_id = %(account)s::bigint")
CHOSEN = CHANGED.format(which="id = ANY (%(passes)s::bigint[])")

# Of the passes whose update this is; another worker's is left alone.
TAKE = """
    UPDATE loyalty_walletpass
       SET queued_version = NULL, busy_until = statement_timestamp() + make_interval(secs => %(busy)s::float)
     WHERE id = %(id)s::bigint AND brand_id = %(brand)s::bigint
       AND (busy_until IS NULL OR busy_until <= statement_timestamp())
    RETURNING id
"""

# What is over may be another worker's by now.
RENEW = """
    UPDATE loyalty_walletpass p
       SET busy_until = greatest(busy_until, statement_timestamp() + make_interval(secs => %(busy)s::float))
      FROM unnest(%(ids)s::bigint[], %(brands)s::bigint[]) AS held (id, brand)
     WHERE p.id = held.id AND p.brand_id = held.brand AND p.busy_until > statement_timestamp()
    RETURNING p.id
"""


@dataclass(frozen=True, slots=True)
class Changed:
    """A pass with a new version, and whether its update is yet to be queued."""

    pk: int
    user_id: int
    version: int
    is_first: bool


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
    found = sql.rows(OF_ACCOUNT, {"account": account, "brand": brand_id, "at": at})
    return [refresh(each, brand_id) for each in _read(found) if each.is_first]


def chosen_changed(*, passes: Sequence[int], brand_id: int, at: datetime) -> list[messages.NewEvent]:
    """The same for these passes of a brand."""
    found = sql.rows(CHOSEN, {"passes": list(passes), "brand": brand_id, "at": at})
    return [refresh(each, brand_id) for each in _read(found) if each.is_first]


def _read(rows: Iterable[tuple[Any, ...]]) -> list[Changed]:
    return [Changed(pk, user_id, version, version == queued) for pk, user_id, version, queued in rows]


def refresh(changed: Changed, brand_id: int, *, wait_seconds: float | None = None) -> messages.NewEvent:
    """The update of a pass, a moment later, so that a burst of changes becomes one."""
    return messages.NewEvent(
        kind=KIND,
        payload={"pass_id": changed.pk, "version": changed.version},
        arguments={"brand_id": brand_id, "user_id": changed.user_id},
        event_id=uuid.uuid5(messages.FOLLOWING, f"{KIND}:{changed.pk}:{changed.version}"),
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
            messages = chosen_changed(passes=portion, brand_id=brand_id, at=at)
            publishing.publish(messages=messages, brand_id=brand_id, at=at)
        last, count = portion[-1], count + len(portion)
    return count


@contextmanager
def taken(*, pass_id: int, brand_id: int) -> Iterator[WalletPass | None]:
    """The pass, for the block alone until `done` or `failed`, or for BUSY_SECONDS after this process was killed.

    None: the brand has no such pass. Raises RetryLater while another worker has it. No transaction may outlast the
    block: what it has locked could not be renewed.
    """
    parameters = {"id": pass_id, "brand": brand_id, "busy": BUSY_SECONDS}
    if not sql.rows(TAKE, parameters):
        if WalletPass.objects.filter(pk=pass_id, brand_id=brand_id).exists():
            raise messages.RetryLater("another worker is talking about this pass", after=timedelta(seconds=3))
        yield None
        return
    with keeper.holding([(pass_id, brand_id)]):
        yield WalletPass.objects.get(pk=pass_id)


def _renew(held: Sequence[tuple[int, int]]) -> None:
    ids, brands = zip(*held, strict=True)
    try:
        sql.rows(RENEW, {"ids": list(ids), "brands": list(brands), "busy": BUSY_SECONDS})
    finally:
        connection.close()  # seldom needed, and every process would keep one more


keeper = Keeper[tuple[int, int]]("wallet passes", every=RENEW_SECONDS, renew=_renew)


def done(*, wallet_pass: WalletPass, at: datetime, **also: Any) -> None:
    """The wallets have heard of this version."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        pushed_version=Greatest("pushed_version", wallet_pass.version),
        pushed_at=at,
        busy_until=None,
        last_error="",
        failed_at=None,
        **also,
    )


def left_alone(*, wallet_pass: WalletPass) -> None:
    """There was nothing to say."""
    WalletPass.objects.filter(pk=wallet_pass.pk).update(busy_until=None)


def failed(*, wallet_pass: WalletPass, error: str, at: datetime) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).update(
        busy_until=None, last_error=leases.readable(error), failed_at=at
    )


def handed_out(*, wallet_pass: WalletPass) -> None:
    """The customer was given this version; whether it came into a wallet, nobody has said yet."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(held_version=Greatest("held_version", wallet_pass.version))


def fetched(*, wallet_pass: WalletPass, at: datetime) -> None:
    """A device has this version."""
    rows = WalletPass.objects.filter(pk=wallet_pass.pk)
    rows.update(held_version=Greatest("held_version", wallet_pass.version), fetched_at=at)


def set_state(*, wallet_pass: WalletPass, state: WalletPass.State) -> None:
    WalletPass.objects.filter(pk=wallet_pass.pk).exclude(state=state).update(state=state)


def may_tell(*, wallet_pass: WalletPass, at: datetime) -> bool:
    """Whether Google may still notify the customer today; if so, that it was told to is on record from here on."""
    recent = [moment for moment in wallet_pass.told_at if datetime.fromisoformat(moment) > at - TOLD_WITHIN]
    if len(recent) >= TOLD_AT_MOST:
        return False
    wallet_pass.told_at = [*recent, at.isoformat()]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(told_at=wallet_pass.told_at)
    return True


def was_not_told(*, wallet_pass: WalletPass) -> None:
    """Google refused the call that would have notified the customer."""
    wallet_pass.told_at = wallet_pass.told_at[:-1]
    WalletPass.objects.filter(pk=wallet_pass.pk).update(told_at=wallet_pass.told_at)


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
            told_at=[],
            last_error="",
        )
    return [
        messages.NewEvent(
            kind=EXPIRE, payload={"pass_id": each.pk}, arguments={"brand_id": each.brand_id, "user_id": to}
        )
        for each in passes
        if each.platform == Platform.GOOGLE
    ]
