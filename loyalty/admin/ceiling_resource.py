"""Imports of rows that set what is earned. A file cannot set values above the brand's ceiling."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from brands.audit_log import AuditContext
from core.numbers import grouped
from loyalty.models.levels import RewardType
from loyalty.points import approvals
from portal.import_export.plans import PlannedRow
from portal.import_export.resource import TenantResource


class CeilingResource(TenantResource):
    """Rejects values above the ceiling. A second person approves these on the row's own page."""

    points_field: ClassVar[str]
    reward_type_field: ClassVar[str] = ""  # set where the value may be a percentage

    def check_rows(self, rows: Sequence[PlannedRow]) -> None:
        """A value that is already above the ceiling may stay or decrease."""
        super().check_rows(rows)
        title = next(each.column_name for each in self.fields.values() if each.attribute == self.points_field)
        for row in rows:
            reward_type = self._reward_type(row.instance)
            most = approvals.ceiling(brand=self.brand, reward_type=reward_type)
            if row.before is not None and self._reward_type(row.before) == reward_type:
                most = max(most, Decimal(getattr(row.before, self.points_field) or 0))
            if (getattr(row.instance, self.points_field) or 0) > most:
                text = _(
                    "Above the ceiling of %(most)s. Enter it on the row's own page: a second person must approve it."
                )
                row.add_error(title, text % {"most": grouped(most)})

    def _reward_type(self, row: Any) -> str:
        return getattr(row, self.reward_type_field) if self.reward_type_field else RewardType.POINTS.value

    def after_write(self, new: Sequence[PlannedRow], changed: Sequence[PlannedRow], context: AuditContext) -> None:
        """A new value withdraws the row's pending approval request, as on the row's page."""
        super().after_write(new, changed, context)
        if context.user is None:
            return
        for row in approvals.waiting_for([row.instance for row in changed if self._has_new_points(row)]):
            approvals.withdraw(row=row, by=context.user, at=context.at)

    def _has_new_points(self, row: PlannedRow) -> bool:
        return bool(getattr(row.before, self.points_field) != getattr(row.instance, self.points_field))
