"""Imports and exports earning rules, without conditions and limits: only the page and brand files have those."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from brands.audit_log import AuditContext
from brands.models.tenants import Brand
from campaigns.earning import checks
from campaigns.models.earning_rules import EarningRule
from loyalty.admin.ceiling_resource import CeilingResource
from portal.import_export.cells import NO, YES, BooleanCell, Column, column
from portal.import_export.plans import Plan, PlannedRow
from portal.import_export.resource import BATCH
from portal.import_export.tables import Table

MOMENT = _("Such as 2026-12-31 18:00, in the brand's time zone.")
ACTIVE = "active"
State = EarningRule.State


class ActiveCell(BooleanCell):
    """The column `active` of older files: yes or no in place of a state."""

    def clean(self, value: str, row: Any = None, **more: Any) -> Any:
        """Raises ValidationError."""
        return State.ACTIVE.value if super().clean(value, row, **more) else State.PAUSED.value

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:
        return YES if value == State.ACTIVE else NO


class EarningRuleResource(CeilingResource):
    """Earning rules by name. In a file without names, a row is about the rule with the default name of its kind."""

    name = column(
        EarningRule,
        "name",
        "Order completed",
        _("Finds the rule to change. If left out or empty, the name is what the rule is for."),
    )
    kind = column(
        EarningRule,
        "kind",
        "order-complete",
        _(
            "Required. scan-auth, order-complete, log-user-profile-update, log-user-login, milestone, "
            "member-welcome, member-birthday or your own kind."
        ),
    )
    reward_type = column(
        EarningRule, "reward_type", "percentage", _("points, percentage (orders and scans), multiplier or bonus.")
    )
    reward_value = column(
        EarningRule, "reward_value", "5", _("Required. The points, the percentage of the amount, or the multiplier.")
    )
    per = column(EarningRule, "per", "event", _("event or item."))
    basis = column(EarningRule, "basis", "whole", _("whole, or matching for the items that match the conditions."))
    stacking = column(EarningRule, "stacking", "add", _("add, multiply (multipliers) or best (of the rule's group)."))
    group = column(EarningRule, "group", note=_("The group in which only the best rule counts."))
    priority = column(EarningRule, "priority", "100", _("Higher ones count first."))
    starts_at = column(EarningRule, "starts_at", note=MOMENT)
    ends_at = column(EarningRule, "ends_at", note=MOMENT)
    without_end = column(EarningRule, "without_end", "no", _("yes or no."))
    active = Column(attribute="state", widget=ActiveCell())
    state = column(
        EarningRule,
        "state",
        "active",
        _("draft, active, paused or ended. A column active with yes or no also works."),
    )

    required = ("kind", "reward_value")
    points_field = "reward_value"
    reward_type_field = "reward_type"

    class Meta:
        model = EarningRule
        import_id_fields = ("name",)

    def column_names(self, rows: Sequence[Any] = ()) -> list[str]:
        return [name for name in super().column_names(rows) if name != ACTIVE]

    def known_columns(self) -> Iterable[str]:
        return [*self.column_names(), ACTIVE]

    def required_columns(self) -> list[str]:
        return list(self.required)

    def plan(self, table: Table, *, lock: bool = False) -> Plan:
        """As for any file; rules without a name get the default name of their kind."""
        self.check_table(table)
        return super().plan(with_names(table, self.brand), lock=lock)

    def check_rows(self, rows: Sequence[PlannedRow]) -> None:
        """Apply the checks of the rule's form."""
        super().check_rows(rows)
        for row in rows:
            for name, text in checks.problems_of(row.instance).items():
                row.add_error(name if name in self.fields else "", text)

    def after_write(self, new: Sequence[PlannedRow], changed: Sequence[PlannedRow], context: AuditContext) -> None:
        """Store since when a state holds: a rule pays for no welcome or birthday before it was activated."""
        super().after_write(new, changed, context)
        rules = [
            row.instance for row in [*new, *changed] if row.before is None or row.before.state != row.instance.state
        ]
        for rule in rules:
            rule.state_changed_by, rule.state_changed_at = context.user, context.at
        EarningRule.objects.bulk_update(rules, ["state_changed_by", "state_changed_at"], batch_size=BATCH)


def with_names(table: Table, brand: Brand) -> Table:
    """The table with the name of its rule in each row."""
    kind_at = table.columns.index("kind")
    has_names = "name" in table.columns
    name_at = table.columns.index("name") if has_names else 0
    rows = []
    for row in table.rows:
        values = list(row.values)
        usual = EarningRule(brand=brand, kind=values[kind_at].strip()).default_name()
        if not has_names:
            values.insert(0, usual)
        elif not values[name_at].strip():
            values[name_at] = usual
        rows.append(replace(row, values=values))
    return replace(table, columns=table.columns if has_names else ["name", *table.columns], rows=rows)
