"""Import of partner codes into the pools of rewards."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import audit_log
from brands.audit_log import AuditContext, NamedChange
from brands.identity.roles import ACT
from core.moments import MomentField
from loyalty.models.rewards import MAX_PARTNER_CODE_LENGTH, PoolCode, Reward
from loyalty.rewards import pools
from portal.import_export.cells import Cell, Column
from portal.import_export.plans import Outcome, Plan, PlannedRow
from portal.import_export.resource import TenantResource
from portal.import_export.tables import Table
from portal.lists.bidi import isolated

CODE_PATTERN = re.compile(r"[\x21-\x7e]+( [\x21-\x7e]+)*")


@dataclass(frozen=True, slots=True)
class PartnerCodeRow:
    """A valid row of a file, and the digest of its code."""

    reward: Reward
    code: str
    digest: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class NamedCode:
    """The masked name of a row's code in the import preview."""

    pk: int | None
    name: str

    def __str__(self) -> str:
        return self.name


class PoolCodeResource(TenantResource):
    """Partner codes by reward. A code that is already in the pool stays unchanged, even after it expired."""

    reward = Column(
        "Free coffee",
        gettext_lazy("Required. The name of a reward that hands out partner codes, or # and its id: #12."),
    )
    code = Column(
        "PARTNER-7K2M",
        gettext_lazy("Required. The code as the member shows it to the partner: up to 200 letters, digits and signs."),
    )
    expires_at = Column(
        "2026-12-31 23:59:59",
        gettext_lazy(
            "The code is not handed out after this time. A date alone means the end of that day, in the brand's "
            "time zone."
        ),
    )

    required = ("reward", "code")
    add_verb = change_verb = ACT  # codes can only be imported, never typed
    exports = False  # a code is only for the member who receives it
    note = gettext_lazy("Codes are stored encrypted. Neither this list nor an export shows them again.")

    class Meta:
        model = PoolCode
        import_id_fields = ()

    def plan(self, table: Table, *, lock: bool = False) -> Plan:
        self.check_table(table)
        planned = [PlannedRow(row.line, row.values) for row in table.rows]
        cells = [dict(zip(table.columns, (cell.strip() for cell in row.values), strict=True)) for row in table.rows]
        rewards = self._rewards(cells)
        expiry_cell = Cell(MomentField(null=True, blank=True).formfield(required=False), is_end=True)
        for row, values in zip(planned, cells, strict=True):
            self._parse_row(row, values, rewards, expiry_cell)
            row.masked_values = [pools.masked(text) if name == "code" else text for name, text in values.items()]
        self._check_repeated_codes(planned)
        self._compare(planned)
        return Plan(table.columns, planned)

    def _rewards(self, cells: Sequence[Mapping[str, str]]) -> dict[str, list[Reward]]:
        """The brand's rewards, by the names or ids that the file uses."""
        result: dict[str, list[Reward]] = defaultdict(list)
        named = {each["reward"] for each in cells}
        for reward in Reward.objects.filter(brand=self.brand):
            for name in {reward.name, f"#{reward.pk}"} & named:
                result[name].append(reward)
        return result

    def _parse_row(
        self, row: PlannedRow, cells: Mapping[str, str], rewards: Mapping[str, list[Reward]], expiry_cell: Cell
    ) -> None:
        matches, code, expires_at = rewards.get(cells["reward"], []), cells["code"], None
        if not matches:
            message = _("There is no “%(name)s” in this brand.") % {"name": cells["reward"][:80]}
            row.add_error("reward", message)
        elif len(matches) > 1:
            row.add_error("reward", _("Several rewards have this name. Write # and the id."))
        elif not matches[0].uses_pool:
            row.add_error(
                "reward",
                _("This reward hands out its own codes. Switch the reward to partner codes on its page first."),
            )
        if not CODE_PATTERN.fullmatch(code) or len(code) > MAX_PARTNER_CODE_LENGTH:
            row.add_error(
                "code", _("Enter 1 to %(most)d letters, digits and signs.") % {"most": MAX_PARTNER_CODE_LENGTH}
            )
        if cells.get("expires_at"):
            try:
                expires_at = expiry_cell.clean(cells["expires_at"])
            except ValidationError as error:
                row.add_error("expires_at", " ".join(error.messages))
        row.instance = NamedCode(None, f"{cells['reward'][:80]}: {isolated(pools.masked(code))}")
        if not row.errors:
            row.more = PartnerCodeRow(matches[0], code, pools.digest(code), expires_at)

    def _check_repeated_codes(self, planned: Sequence[PlannedRow]) -> None:
        same: dict[tuple[Any, ...], list[PlannedRow]] = defaultdict(list)
        for row in planned:
            if not row.errors:
                same[row.more.reward.pk, row.more.digest].append(row)
        for row, lines in self.seen.repeated(same):
            row.add_error("code", _("Lines %(lines)s have the same code.") % {"lines": lines})

    def _compare(self, planned: Sequence[PlannedRow]) -> None:
        """Compare the rows with the codes in the pools."""
        now = timezone.now()
        good = [row for row in planned if not row.errors]
        stored = PoolCode.objects.filter(brand=self.brand, digest__in=[row.more.digest for row in good])
        known = {(code.reward_id, code.digest): code for code in stored.only("pk", "reward_id", "digest", "expires_at")}
        for row in good:
            if code := known.get((row.more.reward.pk, row.more.digest)):
                row.instance = row.before = NamedCode(code.pk, str(row.instance))
                if code.expires_at != row.more.expires_at:
                    row.add_error("expires_at", _("The pool has this code with another expiry."))
            elif row.more.expires_at is not None and row.more.expires_at <= now:
                row.add_error("expires_at", _("This is in the past."))
            elif not self.may_add:
                row.add_error("", _("Your role may not add rows."))
            else:
                row.changes["code"] = ("", pools.masked(row.more.code))

    def write(self, plan: Plan, *, context: AuditContext) -> None:
        made = [
            PoolCode(
                brand=self.brand,
                reward=row.more.reward,
                code=row.more.code,
                digest=row.more.digest,
                ending=pools.ending(row.more.code),
                expires_at=row.more.expires_at,
                imported_at=context.at,
            )
            for row in plan.of(Outcome.NEW)
        ]
        pools.add(made)
        rows = [
            NamedChange(code.pk, str(code), {"reward": (None, f"{code.reward} (#{code.reward_id})")}) for code in made
        ]
        audit_log.record_many(
            audit_context=context, action=audit_log.ADDED, brand_id=self.brand.pk, model=PoolCode, rows=rows
        )
