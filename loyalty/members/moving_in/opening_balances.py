"""Opening balances: points from another programme. The only code that writes OpeningBalance.

If the brand credits points only to confirmed addresses, the balance of an unconfirmed or newly imported member waits
until they confirm the address or log in. A confirmation at another brand does not count, because the brand must not be
able to detect it. It counts for a person with a session at this brand that has not been purged; for others, the balance
is credited at the next login.
"""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from brands.tenants.turns import TURN_SECONDS, in_turns
from core.db import row_guard
from core.db.outages import is_outage
from core.db.statements import command
from core.json_values import json_number
from events import leases, publishing
from events.messages import LeasedEvent, NewEvent
from loyalty.integrations import webhook_events
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.points import accounts, ledger
from loyalty.points.balance_events import balance_changed, with_pass
from loyalty.points.ledger import OpeningCredit
from loyalty.points.level_periods.raising import note_raised
from loyalty.points.level_periods.rules import rule_of
from loyalty.points.level_periods.settle import settle

logger = logging.getLogger(__name__)

INSERT_OPENING_BALANCES = command("loyalty/members/moving_in/sql/insert_opening_balances.sql")
# An arbitrary constant UUID: the namespace of event ids derived from opening balances.
EVENT_ID_NAMESPACE = UUID("0b7f4c0e-7a53-4f6e-9a0c-5d3a3f6b7c21")
PORTION = 1_000  # events per call of publish
ACCOUNTS_AT_ONCE = 100  # accounts per turn of a brand
RELEASE = "release-opening-balances"


def note() -> str:
    """The note of the ledger entry, which the member reads."""
    return gettext_noop("Opening balance")


def credit(
    *, brand_id: int, balances: Sequence[tuple[int, Decimal]], reason_id: str, at: datetime
) -> list[OpeningCredit]:
    """Credit opening balances to accounts of the brand, once per `reason_id`. Returns the new credits.

    Updates webhooks and existing wallet passes, but sends no notification. Call in a transaction, with the accounts
    locked or created in it.
    """
    if not balances:
        return []
    brand = Brand.objects.get(pk=brand_id)
    if rule_of(brand):
        settle(brand=brand, accounts=[account for account, _points in balances], at=at)
    credited = ledger.credit_opening_balances(
        accounts=[account for account, _points in balances],
        points=[points for _account, points in balances],
        reason_id=reason_id,
        note=note(),
        at=at,
    )
    raised = [
        (each.account, each.level_before, each.current_level, each.counted) for each in credited if each.level_updated
    ]
    note_raised(brand=brand, raised=raised, at=at)
    _publish(brand_id, credited, reason_id, at)
    return credited


def _publish(brand_id: int, credited: Sequence[OpeningCredit], reason_id: str, at: datetime) -> None:
    passes = with_pass([each.account for each in credited])
    listened = webhook_events.listened_at(brand_id)
    events = [
        event
        for each in credited
        for event in _events_of(each, brand_id, reason_id, at, listened=listened, has_pass=each.account in passes)
    ]
    for start in range(0, len(events), PORTION):
        publishing.publish(messages=events[start : start + PORTION], brand_id=brand_id, at=at)


def _events_of(
    credit: OpeningCredit, brand_id: int, reason_id: str, at: datetime, *, listened: set[str], has_pass: bool
) -> Iterator[NewEvent]:
    """Events for the wallet, if the member has a pass, and for subscribed webhooks."""
    cause = f"{reason_id}:{credit.loyalty_transaction_id}"
    if has_pass:
        yield balance_changed(
            brand_id=brand_id,
            user_id=credit.user_id,
            account=credit.account,
            points=credit.balance,
            level=credit.current_level,
            level_updated=credit.level_updated,
            cause=cause,
            has_consumer=True,
            event_id=uuid5(EVENT_ID_NAMESPACE, f"balance-changed:{cause}"),
        )
    if not listened:
        return
    details = webhook_events.Credit(
        brand_id=brand_id,
        user_id=credit.user_id,
        points_earned=json_number(credit.points),
        new_balance=json_number(credit.balance),
        lifetime_points=json_number(credit.lifetime),
        transaction_id=str(credit.loyalty_transaction_id),
        reason_ids=[reason_id],
        note=note(),
        current_level=credit.current_level,
        level_updated=credit.level_updated,
        cause=cause,
        at=at,
    )
    yield from webhook_events.of_credit(
        details, listened=listened, ids=lambda what: uuid5(EVENT_ID_NAMESPACE, f"{what}:{cause}")
    )


def hold(*, brand_id: int, balances: Sequence[tuple[int, Decimal]], reason_id: str, at: datetime) -> None:
    """Store opening balances by user, until the members confirm their addresses. Joins a transaction."""
    INSERT_OPENING_BALANCES.run(
        brand_id=brand_id,
        user_ids=[user_id for user_id, _points in balances],
        points=[points for _user_id, points in balances],
        reason_id=reason_id,
        note=note(),
        at=at,
    )


def release(*, user_id: int, brand_id: int | None = None, at: datetime) -> None:
    """Have a worker credit what waits for a person who just confirmed the address, or logged in at `brand_id`.

    Not credited here: the person is already locked, and accounts must be locked first. Joins a transaction.
    """
    with row_guard.disabled("an address that was confirmed counts at every brand"):
        waiting = OpeningBalance.objects.filter(user=user_id)
        waiting = waiting if brand_id is None else waiting.filter(brand=brand_id)
        for each in sorted(set(waiting.order_by().values_list("brand", flat=True))):
            event = NewEvent(kind=RELEASE, payload={}, arguments={"brand_id": each, "user_id": user_id})
            publishing.publish(messages=[event], brand_id=each, at=at)


def on_release(delivery: LeasedEvent) -> None:
    """The handler of `release-opening-balances`. A blocked member's balance waits until the next login."""
    user_id, brand_id, at = delivery.arguments["user_id"], delivery.brand_id, timezone.now()
    with transaction.atomic():
        account = accounts.account_of(brand_id=brand_id, user_id=user_id)
        if account is not None:
            accounts.lock(account=account.pk)
            account.refresh_from_db(fields=["status"])
        leases.finish(delivery, outcome={})
        if account is not None and account.status == UserPoints.Status.ACTIVE:
            _credit_waiting(account, at)


def release_where_not_needed(*, at: datetime, seconds: float = TURN_SECONDS) -> int:
    """Credit waiting balances at brands that no longer require confirmed addresses. Returns the number of accounts.

    Takes a portion of each brand in turn, for at most `seconds`.
    """
    brands = Brand.objects.filter(pk__in=OpeningBalance.objects.values("brand"), requires_confirmed_email=False)
    failure = "the opening balances of the brand %s could not be credited"
    return in_turns(brands, partial(_credited_portions, at=at), failure=failure, seconds=seconds)


def _credited_portions(brand: Brand, *, at: datetime) -> Iterator[int]:
    """Credit the brand's accounts, each in its own transaction. An account that fails is skipped."""
    waiting = OpeningBalance.objects.filter(user=OuterRef("user"), brand=brand)
    ready = UserPoints.objects.filter(Exists(waiting), brand=brand, status=UserPoints.Status.ACTIVE).order_by("pk")
    after = 0
    while portion := list(ready.filter(pk__gt=after).values_list("pk", flat=True)[:ACCOUNTS_AT_ONCE]):
        after = portion[-1]
        yield sum(_is_credited(account, at) for account in portion)


def _is_credited(pk: int, at: datetime) -> bool:
    try:
        with transaction.atomic():
            account = UserPoints.objects.select_for_update(no_key=True).get(pk=pk)
            if account.status != UserPoints.Status.ACTIVE:
                return False
            _credit_waiting(account, at)
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("the opening balance of the account %d could not be credited", pk)
        return False
    return True


def _credit_waiting(account: UserPoints, at: datetime) -> None:
    """Credit once: deletes each waiting row as it is credited. Call with the account locked."""
    for row in OpeningBalance.objects.filter(brand=account.brand_id, user=account.user_id).order_by("pk"):
        row.delete()
        credit(brand_id=account.brand_id, balances=[(account.pk, row.points)], reason_id=row.reason_id, at=at)


def erase(*, user_id: int, brand_id: int) -> None:
    """For the erasure of personal data: delete the waiting balances."""
    OpeningBalance.objects.filter(user=user_id, brand=brand_id).delete()
