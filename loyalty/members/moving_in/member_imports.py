"""Import of members from another programme, with opening balances: many at once, or none.

`write` handles files of every size, with a few statements per 2,000 rows. It sends no mail, message or push, but
updates webhooks and existing wallet passes.

People whom the brand does not know are enrolled whether or not another brand has them as a customer. The brand cannot
see the difference: they have no brand of registration, and their names are those in the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands import audit_log
from brands.audit_log import AuditContext, NamedChange
from brands.identity import users
from brands.models.people import User
from brands.models.tenants import Brand
from core import json_values
from core.db import row_guard
from core.db.statements import query
from core.errors import Invalid
from core.json_values import json_number
from core.numbers import grouped
from events import publishing
from loyalty.integrations import webhook_events
from loyalty.members.moving_in import opening_balances
from loyalty.models.accounts import UserPoints
from loyalty.models.webhooks import WebhookType
from loyalty.notifications import preferences
from loyalty.notifications.preferences import ImportedPreferences
from loyalty.points import accounts, adjustments, birthdays, ledger
from loyalty.points.accounts import NewMember
from loyalty.points.ledger import OpeningCredit

ZERO = Decimal(0)
DEFAULT_SOURCE = "import"
PORTION = 2_000  # members per portion
CHANGED = gettext_lazy("The rows have changed since the preview. Nothing was imported. Upload the file again.")


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A validated row of a file. `address` is in lowercase; `phone` has its country code, or is empty."""

    address: str
    first_name: str = ""
    last_name: str = ""
    external_id: str = ""
    phone: str = ""
    language: str = ""
    wants_notifications: bool = True
    points: Decimal = ZERO
    birthday: str = ""

    @property
    def has_preferences(self) -> bool:
        return bool(self.phone or self.language or not self.wants_notifications)


@dataclass(frozen=True, slots=True)
class KnownMember:
    """A person whom the brand knows by an address: a member (with `account`), or a customer who registered with it.

    `is_confirmed`: at this brand, where the person registered or has a session that has not been purged.
    """

    email: str
    user_id: int
    account: int | None
    status: str
    external_id: str
    is_active: bool
    is_confirmed: bool
    opening_balance: Decimal | None


FETCH_MEMBERS = query("loyalty/members/moving_in/sql/fetch_members_by_address.sql", returns=KnownMember)


def reason_id_of(source: str) -> str:
    """The reason id of ledger entries for a source programme. A member gets one opening balance per source."""
    return f"{ledger.OPENING}{source or DEFAULT_SOURCE}"


def known(*, brand: Brand, addresses: Sequence[str], source: str) -> dict[str, KnownMember]:
    """The brand's members and registered customers with these addresses. Other people are not found."""
    rows = FETCH_MEMBERS.all(brand_id=brand.pk, addresses=list(addresses), reason_id=reason_id_of(source))
    return {each.email: each for each in rows}


def lock_known(*, brand: Brand, addresses: Sequence[str], source: str, by: User | None) -> dict[str, KnownMember]:
    """Like `known`, with the members' accounts locked until the end of the transaction.

    Serialises additions by the importer first, in the same order as adjustments. That holds for files without points
    too: a later portion of the file may have some.
    """
    if by is None or not by.is_superuser:
        adjustments.lock_additions(brand_id=brand.pk, by=by)
    before = known(brand=brand, addresses=addresses, source=source)
    accounts.lock_many(accounts=sorted(each.account for each in before.values() if each.account is not None))
    return known(brand=brand, addresses=addresses, source=source)


def taken_external_ids(*, brand: Brand, external_ids: Sequence[str]) -> dict[str, int]:
    """The external ids that members of the brand already have, with their accounts."""
    rows = UserPoints.objects.filter(brand=brand, external_id__in=external_ids)
    return dict(rows.values_list("external_id", "pk"))


def most_points(*, brand: Brand, by: User | None, at: datetime) -> Decimal | None:
    """How many more points `by` may import today, or None without a limit.

    Opening balances count as points added by hand, under the same limit.
    """
    if by is not None and by.is_superuser:
        return None
    return max(ZERO, adjustments.max_a_day(brand) - adjustments.added_today(brand_id=brand.pk, by=by, at=at))


def too_many_points(*, brand: Brand, left: Decimal) -> str:
    message = _(
        "The opening balances add up to more than you can add today: %(left)s of %(most)s points are left. Ask the "
        "operator to import this file."
    )
    return message % {"left": grouped(left), "most": grouped(adjustments.max_a_day(brand))}


def write(*, brand: Brand, rows: Sequence[MemberRow], source: str, audit_context: AuditContext) -> None:
    """Enrol the members in `rows` who are new, and credit each opening balance once.

    Call in a transaction, with known members locked by `lock_known`. Raises Invalid if the points exceed the importer's
    daily limit, or if a member was enrolled concurrently.
    """
    before = known(brand=brand, addresses=[row.address for row in rows], source=source)
    _check_limit(brand, [row.points for row in rows if _is_owed(row, before)], audit_context)
    for start in range(0, len(rows), PORTION):
        _write_portion(brand, rows[start : start + PORTION], before, source, audit_context)


def _write_portion(
    brand: Brand,
    rows: Sequence[MemberRow],
    before: Mapping[str, KnownMember],
    source: str,
    audit_context: AuditContext,
) -> None:
    """Write at most PORTION rows, so that no statement exceeds the time limit."""
    at, reason_id = audit_context.at, reason_id_of(source)
    new = [row for row in rows if not _is_member(row, before)]
    with row_guard.disabled("an address is one person's, whichever brand they came to first"):
        users.add_people(addresses=[row.address for row in new], at=at)
        newcomers = [NewMember(row.address, row.external_id, row.first_name, row.last_name) for row in new]
        enrolled = accounts.enrol_many(brand_id=brand.pk, newcomers=newcomers, at=at) if new else []
    if len(enrolled) != len(new):
        raise Invalid(str(CHANGED))
    now = known(brand=brand, addresses=[row.address for row in rows], source=source)
    _note_external_ids(brand, rows, before, now, at)
    imported = [
        ImportedPreferences(now[row.address].user_id, row.language, row.phone, row.wants_notifications)
        for row in new
        if row.has_preferences
    ]
    if imported:
        preferences.add_many(brand_id=brand.pk, rows=imported, at=at)
    born = [(now[row.address].user_id, row.birthday) for row in new if row.birthday]
    if born:
        birthdays.add_many(brand_id=brand.pk, birthdays=born, at=at)
    enrolled_ids = [now[row.address].user_id for row in new]
    _publish(brand, WebhookType.MEMBER_ENROLLED, {"enrolled_at": json_values.iso(at)}, enrolled_ids, at)
    owed = [row for row in rows if _is_owed(row, before)]
    waiting = {row.address for row in owed if brand.requires_confirmed_email and not _may_earn(row, before)}
    if waiting:
        opening_balances.hold(
            brand_id=brand.pk,
            balances=[(now[row.address].user_id, row.points) for row in owed if row.address in waiting],
            reason_id=reason_id,
            at=at,
        )
    credited = opening_balances.credit(
        brand_id=brand.pk,
        balances=[(now[row.address].account or 0, row.points) for row in owed if row.address not in waiting],
        reason_id=reason_id,
        at=at,
    )
    _record(brand, rows, before, now, {each.account: each for each in credited}, waiting, audit_context)


def _is_member(row: MemberRow, before: Mapping[str, KnownMember]) -> bool:
    return row.address in before and before[row.address].account is not None


def _is_owed(row: MemberRow, before: Mapping[str, KnownMember]) -> bool:
    """Whether the row has points that its member has not received yet."""
    return row.points > 0 and (row.address not in before or before[row.address].opening_balance is None)


def _may_earn(row: MemberRow, before: Mapping[str, KnownMember]) -> bool:
    """Whether the member may earn at once. See KnownMember for confirmations at other brands."""
    return row.address in before and before[row.address].is_confirmed


def _check_limit(brand: Brand, points: Sequence[Decimal], audit_context: AuditContext) -> None:
    if not points:
        return
    left = most_points(brand=brand, by=audit_context.user, at=audit_context.at)
    if left is not None and sum(points) > left:
        raise Invalid(too_many_points(brand=brand, left=left), details={"field": "opening_balance"})


def _note_external_ids(
    brand: Brand,
    rows: Sequence[MemberRow],
    before: Mapping[str, KnownMember],
    now: Mapping[str, KnownMember],
    at: datetime,
) -> None:
    """Store the external ids of existing members without one, and publish webhook events."""
    noted = {
        now[row.address].account or 0: row
        for row in rows
        if row.external_id and _is_member(row, before) and not before[row.address].external_id
    }
    if not noted:
        return
    accounts.set_external_ids(external_ids={account: row.external_id for account, row in noted.items()}, at=at)
    user_ids = [now[row.address].user_id for row in noted.values()]
    _publish(brand, WebhookType.MEMBER_CHANGED, {"changed": ["external_id"]}, user_ids, at)


def _publish(brand: Brand, kind: WebhookType, data: dict[str, Any], user_ids: Sequence[int], at: datetime) -> None:
    if not user_ids or not webhook_events.listens(brand_id=brand.pk, kind=kind):
        return
    events = [
        webhook_events.webhook_event(kind, data, brand_id=brand.pk, user_id=user_id, at=at) for user_id in user_ids
    ]
    publishing.publish(messages=events, brand_id=brand.pk, at=at)


def _record(
    brand: Brand,
    rows: Sequence[MemberRow],
    before: Mapping[str, KnownMember],
    now: Mapping[str, KnownMember],
    credited: Mapping[int, OpeningCredit],
    waiting: set[str],
    audit_context: AuditContext,
) -> None:
    """Log each changed row in two statements. Leaves external ids out, because log entries are permanent."""
    entries: dict[bool, list[NamedChange]] = {True: [], False: []}
    for row in rows:
        account, is_new = now[row.address].account or 0, not _is_member(row, before)
        changes = dict(_changes(row, credited.get(account), row.address in waiting))
        if row.external_id and not is_new and not before[row.address].external_id:
            changes["external_id"] = (None, audit_log.HIDDEN)
        if is_new or changes:
            entries[is_new].append(NamedChange(account, f"#{account} at {brand}", changes))
    for is_new, action in ((True, gettext_noop("Enrolled")), (False, gettext_noop("Imported"))):
        audit_log.record_many(
            audit_context=audit_context, action=action, brand_id=brand.pk, model=UserPoints, rows=entries[is_new]
        )


def _changes(row: MemberRow, credit: OpeningCredit | None, waits: bool) -> Iterator[tuple[str, tuple[Any, Any]]]:  # noqa: FBT001
    if credit is not None:
        yield "points", (json_number(credit.balance - credit.points), json_number(credit.balance))
        if credit.level_updated:
            yield "current_level", (credit.level_before, credit.current_level)
        yield adjustments.LINE, (None, credit.loyalty_transaction_id)
    elif waits:
        yield adjustments.WAITING, (None, json_number(row.points))
