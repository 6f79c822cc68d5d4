"""Import of members with opening balances: checks all rows at once. member_imports writes them.

Rows bypass django-import-export's row-by-row processing, so 100,000 rows take seconds.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.audit_log import AuditContext
from brands.identity import users
from brands.identity.roles import ACT
from brands.models.credentials import ApiKey
from core import mail
from core.errors import Invalid
from core.numbers import rounded
from loyalty.members.moving_in import member_imports
from loyalty.members.moving_in.member_imports import KnownMember, MemberRow
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import Language
from loyalty.notifications.preferences import checked_phone
from loyalty.points import birthdays
from portal.import_export.cells import BOOLEANS, NO, YES, Column
from portal.import_export.plans import Outcome, Plan, PlannedRow
from portal.import_export.resource import TenantResource
from portal.import_export.tables import Table

MAX_LENGTHS = {"email": 254, "first_name": 150, "last_name": 150, "external_id": 64, "phone": 40}
AMOUNT = re.compile(r"[0-9]{1,8}(\.[0-9]{1,2})?")
SOURCE = re.compile(r"[a-z0-9-]{1,40}")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class ImportedMember:
    """The member of an imported row. Holds the account's key if there is an account already."""

    pk: int | None
    row: MemberRow

    def __str__(self) -> str:
        return self.row.address


class MemberResource(TenantResource):
    """Members by e-mail address. Existing members keep their names and preferences; a file only fills gaps."""

    email = Column("ada@example.com", gettext_lazy("Required. Finds the member; any other address makes a new member."))
    first_name = Column("Ada", gettext_lazy("The name that you call the member by. For new members only."))
    last_name = Column("Lovelace", gettext_lazy("The name that you call the member by. For new members only."))
    external_id = Column(
        "CRM-1007", gettext_lazy("The member's number in your own systems. Saved if the member has none yet.")
    )
    phone = Column("+4930123456", gettext_lazy("With country code, such as +4930123456. For new members only."))
    language = Column("en", gettext_lazy("en, de or ar. Leave empty for the brand's language. For new members only."))
    birthday = Column(
        "12-31", gettext_lazy("Month and day, such as 12-31. The year is not kept. For new members only.")
    )
    wants_notifications = Column(
        "yes",
        gettext_lazy(
            "yes or no. Enter no for members who unsubscribed: they then get only recalls. For new members only."
        ),
    )
    opening_balance = Column("120", gettext_lazy("Points, such as 120 or 12.5. Credited once for each opening_source."))
    opening_source = Column(
        "import",
        gettext_lazy(
            "Where the points come from, in lower-case letters, digits and hyphens. Use the same source in "
            "all lines. Leave empty to use import."
        ),
    )

    required = ("email",)
    add_verb = change_verb = ACT
    read_scope = write_scope = ApiKey.Scope.MEMBERS.value
    exports = False  # members have their own export
    note = gettext_lazy(
        "Nobody is notified: no mail, message or push is sent. Opening balances count towards the daily limit for "
        "points that you add by hand. The operator can import more. Where points need a confirmed address, a balance "
        "waits until the member confirms the address or logs in."
    )

    class Meta:
        model = UserPoints
        import_id_fields = ()

    _source = member_imports.DEFAULT_SOURCE

    def plan(self, table: Table, *, lock: bool = False) -> Plan:
        self.check_table(table)
        planned = [PlannedRow(row.line, row.values) for row in table.rows]
        for row in planned:
            cells = {name: cell.strip() for name, cell in zip(table.columns, row.values, strict=True)}
            row.more, row.errors = parsed(cells), dict(faults(cells))
            row.instance = ImportedMember(None, row.more)
        self._source = self._source_of(table, planned)
        self._check_unique(planned, "email", lambda row: row.address)
        self._check_unique(planned, "external_id", lambda row: row.external_id)
        addresses = [row.more.address for row in planned if "email" not in row.errors]
        named: dict[str, Any] = {"brand": self.brand, "addresses": addresses, "source": self._source}
        result = member_imports.lock_known(**named, by=self.by) if lock else member_imports.known(**named)
        for row in planned:
            self._compare(row, result.get(row.more.address))
        self._check_external_ids(planned)
        self._check_points(planned, lock=lock)
        return Plan(table.columns, planned)

    def _source_of(self, table: Table, planned: Sequence[PlannedRow]) -> str:
        """The source that all rows of the file share."""
        if "opening_source" not in table.columns:
            return member_imports.DEFAULT_SOURCE
        at = table.columns.index("opening_source")
        default = member_imports.DEFAULT_SOURCE
        named = [row.values[at].strip() or default for row in planned]
        first: str = self.seen.of_file.setdefault("opening_source", named[0])
        for row, name in zip(planned, named, strict=True):
            if not SOURCE.fullmatch(name):
                row.add_error("opening_source", _("Use 1 to 40 lower-case letters, digits and hyphens."))
            elif name != first:
                row.add_error("opening_source", _("Write the same in every line, or split the file."))
        return first

    def _compare(self, row: PlannedRow, known: KnownMember | None) -> None:
        """Compare the row with what the brand already knows."""
        member: MemberRow = row.more
        is_member = known is not None and known.account is not None
        if known is not None and is_member:
            row.instance = row.before = ImportedMember(known.account, member)
        if not is_member and not self.may_add:
            row.add_error("", _("Your role may not add rows."))
        if row.errors:
            return
        if known is not None:
            _check_known(row, known)
        had = known.opening_balance if known is not None else None
        if known is not None and is_member:
            if member.external_id and not known.external_id:
                row.changes["external_id"] = ("", member.external_id)
        else:
            row.changes.update(_new_cells(member))
        if member.points and had is None:
            row.changes["opening_balance"] = ("", f"{member.points:f}")

    def _check_external_ids(self, planned: Sequence[PlannedRow]) -> None:
        """An external id belongs to one member only."""
        noted = [row.changes["external_id"][1] for row in planned if "external_id" in row.changes and not row.errors]
        taken = member_imports.taken_external_ids(brand=self.brand, external_ids=noted)
        for row in planned if taken else ():
            if row.changes.get("external_id", ("", ""))[1] in taken:
                row.add_error("external_id", _("Another member of this brand has this external id."))

    def _check_points(self, planned: Sequence[PlannedRow], *, lock: bool) -> None:
        """Check that the importer may add so many points. The error is on the first row that exceeds the limit."""
        bringing = [row for row in planned if "opening_balance" in row.changes and not row.errors]
        if not bringing:
            return
        if self.key is not None and ApiKey.Scope.POINTS not in self.key.scopes:
            for row in bringing:
                row.add_error("opening_balance", _("This key may not add points. It needs the scope “points”."))
            return
        left = member_imports.most_points(brand=self.brand, by=self.by, at=timezone.now())
        # Points of portions that are already written have already reduced the limit.
        before = ZERO if lock else self.seen.of_file.get("points", ZERO)
        total = self.seen.of_file["points"] = before + sum(row.more.points for row in bringing)
        if left is not None and before <= left < total:
            message = member_imports.too_many_points(brand=self.brand, left=left)
            bringing[0].add_error("opening_balance", message)

    def _check_unique(self, planned: Sequence[PlannedRow], column: str, key: Callable[[MemberRow], str]) -> None:
        """Two rows of the file must not name the same member or the same number."""
        same: dict[tuple[Any, ...], list[PlannedRow]] = defaultdict(list)
        for row in planned:
            if column not in row.errors and key(row.more):
                same[column, key(row.more)].append(row)
        for row, lines in self.seen.repeated(same):
            row.add_error(column, _("Lines %(lines)s are for the same row.") % {"lines": lines})

    def write(self, plan: Plan, *, context: AuditContext) -> None:
        rows = [row.more for row in plan.of(Outcome.NEW, Outcome.CHANGED)]
        if rows:
            member_imports.write(brand=self.brand, rows=rows, source=self._source, audit_context=context)


def parsed(cells: Mapping[str, str]) -> MemberRow:
    """Parse a row's cells. Cells with errors are left out."""
    wrong = dict(faults(cells))
    good = {name: "" if name in wrong else cell for name, cell in cells.items()}
    return MemberRow(
        address=cells["email"].lower(),
        first_name=good.get("first_name", ""),
        last_name=good.get("last_name", ""),
        external_id=good.get("external_id", ""),
        phone=checked_phone(good.get("phone", "")),
        language=good.get("language", ""),
        birthday=good.get("birthday", ""),
        wants_notifications=BOOLEANS[good.get("wants_notifications", "").lower() or YES],
        points=Decimal(good.get("opening_balance", "") or 0),
    )


def faults(cells: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The errors in a row's cells, by column."""
    for name, cell in cells.items():
        if CONTROL.search(cell):
            yield name, _("Remove the control characters, such as line breaks.")
        elif len(cell) > MAX_LENGTHS.get(name, len(cell)):
            yield name, _("At most %(most)d characters.") % {"most": MAX_LENGTHS[name]}
        elif name in FAULTS and (cell or name == "email") and (message := FAULTS[name](cell)):
            yield name, message


def _address_fault(cell: str) -> str:
    try:
        validate_email(cell)
    except ValidationError:
        return _("Enter a valid e-mail address.")
    if not mail.may_be_written_to(cell) or not cell.isascii() or cell.lower().endswith(f"@{users.DOMAIN}"):
        return _("Enter a valid e-mail address.")
    return ""


def _phone_fault(cell: str) -> str:
    try:
        checked_phone(cell)
    except Invalid as error:
        return error.message
    return ""


def _birthday_fault(cell: str) -> str:
    try:
        birthdays.parsed(cell)
    except Invalid as error:
        return error.message
    return ""


def _language_fault(cell: str) -> str:
    return "" if cell in Language.values else _("Write one of %(known)s.") % {"known": ", ".join(Language.values)}


def _boolean_fault(cell: str) -> str:
    return "" if cell.lower() in BOOLEANS else _("Enter yes or no.")


def _amount_fault(cell: str) -> str:
    if AMOUNT.fullmatch(cell):
        return ""
    return _("Enter 0 or more, such as 12.5. Use the digits 0 to 9, and a point before at most two decimals.")


FAULTS = {
    "email": _address_fault,
    "phone": _phone_fault,
    "language": _language_fault,
    "birthday": _birthday_fault,
    "wants_notifications": _boolean_fault,
    "opening_balance": _amount_fault,
}


def _check_known(row: PlannedRow, known: KnownMember) -> None:
    member: MemberRow = row.more
    if not known.is_active:
        row.add_error("email", _("This account is switched off."))
    if member.external_id and known.external_id and member.external_id != known.external_id:
        row.add_error("external_id", _("This member has another external id."))
    if member.points and known.opening_balance is not None and member.points != known.opening_balance:
        message = _("This member already has an opening balance of %(points)s from this source. Adjust it by hand.")
        row.add_error("opening_balance", message % {"points": rounded(known.opening_balance, 2)})
    if member.points and known.status == UserPoints.Status.BLOCKED and known.opening_balance is None:
        row.add_error("opening_balance", _("This member is blocked and earns nothing. Unblock them first."))
    if member.points and known.status == UserPoints.Status.MERGED and known.opening_balance is None:
        message = _("Member %(member)s was already merged into another account. Choose that account.")
        row.add_error("opening_balance", message % {"member": f"#{known.user_id}"})


def _new_cells(member: MemberRow) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in ("first_name", "last_name", "external_id", "phone", "language", "birthday"):
        if text := getattr(member, name):
            yield name, ("", text)
    if not member.wants_notifications:
        yield "wants_notifications", ("", NO)
