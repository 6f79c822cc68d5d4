"""Events that update an account's wallet passes, whatever changed the account."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID, uuid4, uuid5

from core.json_values import json_number
from events import messages, publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass


def balance_changed(
    *,
    brand_id: int,
    user_id: int,
    account: int,
    points: Decimal,
    level: str,
    level_updated: bool = False,
    cause: str,
    has_consumer: bool | None = None,
    event_id: UUID | None = None,
) -> messages.NewEvent:
    """An event with the new balance and level. `has_consumer`: the account has a wallet pass; None looks it up.

    Call with the account locked, or unchanged since `has_consumer` was read: creating a pass waits for the lock.
    """
    if has_consumer is None:
        has_consumer = bool(with_pass([account]))
    return messages.NewEvent(
        kind="balance-changed",
        arguments={"brand_id": brand_id, "user_id": user_id},
        payload={
            "user_point_id": account,
            "points": json_number(points),
            "current_level": level,
            "level_updated": level_updated,
            "cause": cause,
        },
        event_id=event_id or uuid4(),
        has_consumer=has_consumer,
    )


def with_pass(accounts: Iterable[int]) -> set[int]:
    """Those of the accounts that have a wallet pass, in one query."""
    return set(WalletPass.objects.filter(account__in=accounts).values_list("account_id", flat=True))


class ChangedAccount(Protocol):
    """An account after a change of its balance, as the statement that changed it returns it."""

    @property
    def account(self) -> int: ...
    @property
    def user_id(self) -> int: ...
    @property
    def balance(self) -> Decimal: ...
    @property
    def current_level(self) -> str: ...


def balances_changed(
    changed: Collection[ChangedAccount], *, brand_id: int, cause: str, namespace: UUID
) -> list[messages.NewEvent]:
    """`balance_changed` for each of a brand's accounts. The ids are derived from the cause within `namespace`."""
    passes = with_pass([each.account for each in changed])
    return [
        balance_changed(
            brand_id=brand_id,
            user_id=each.user_id,
            account=each.account,
            points=each.balance,
            level=each.current_level,
            cause=cause,
            has_consumer=each.account in passes,
            event_id=uuid5(namespace, f"{cause}:{each.account}"),
        )
        for each in changed
    ]


def pass_changed(member: UserPoints, *, cause: str) -> messages.NewEvent:
    """An event that updates the passes of a member who has some, because something other than the balance changed."""
    return balance_changed(
        brand_id=member.brand_id,
        user_id=member.user_id,
        account=member.pk,
        points=member.points,
        level=member.current_level,
        cause=cause,
        has_consumer=True,
    )


def update_passes(*, member: UserPoints, what: str, at: datetime) -> None:
    """Update the member's passes, if any, because something other than the balance changed: `what`.

    Call with the account locked.
    """
    if with_pass([member.pk]):
        message = pass_changed(member, cause=f"{what}:{uuid4()}")
        publishing.publish(messages=[message], brand_id=member.brand_id, at=at)
