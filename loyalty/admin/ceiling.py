"""Model admins of rows that set what a scan earns. A value above the brand's ceiling needs a second approver."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from core.numbers import grouped
from loyalty.models.levels import RewardType
from loyalty.points import approvals
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user

PENDING_APPROVAL = "_points_held_back"


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A field's requested value, and the value that the row keeps until a second person approves."""

    requested: Any
    current: Any


class CeilingAdmin(TenantAdmin):
    """Saves the values that one person may set, and requests approval for the others."""

    points_fields: ClassVar[tuple[str, ...]] = ()
    reward_type_field = ""  # set where the value may be something else than points

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        obj = super().save_form(request, form, change)
        before = self.row_before(request, obj) if change else None
        pending_approvals = self.pending_approvals(obj, before)
        for name, each in pending_approvals.items():
            setattr(obj, name, each.current)
            if name not in form.changed_data:  # a changed reward type put the value above the ceiling
                form.changed_data.append(name)
        setattr(request, PENDING_APPROVAL, pending_approvals)
        return obj

    def pending_approvals(self, obj: Any, before: Any) -> dict[str, PendingApproval]:
        """Find the fields of `obj` whose values exceed both the ceiling and their previous values."""
        reward_type = self.reward_type(obj)
        same_type = before is not None and self.reward_type(before) == reward_type
        most = approvals.ceiling(brand=obj.brand, reward_type=reward_type)
        pending_approvals = {}
        for name in self.points_fields:
            value = getattr(obj, name)
            had = Decimal(getattr(before, name) or 0) if same_type else Decimal(0)
            if value is not None and value > max(most, had):
                pending_approvals[name] = PendingApproval(value, type(value)(max(most, had)))
        return pending_approvals

    def reward_type(self, obj: Any) -> str:
        """What the row's values are: points, a percentage or, in an earning rule, a multiplier."""
        return getattr(obj, self.reward_type_field) if self.reward_type_field else RewardType.POINTS.value

    def max_total(self, obj: Any, values: Mapping[str, Any]) -> int | None:
        """The maximum total of points, for a row with a known number of codes."""
        return None

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        super().save_related(request, form, formsets, change)
        pending_approvals: dict[str, PendingApproval] = getattr(request, PENDING_APPROVAL)
        obj, by, at = form.instance, staff_user(request), timezone.now()
        if change and not pending_approvals and set(self.points_fields) & set(form.changed_data):
            approvals.withdraw(row=obj, by=by, at=at)
        if pending_approvals:
            values = {name: each.requested for name, each in pending_approvals.items()}
            total = self.max_total(obj, values)
            approval = approvals.request_approval(
                row=obj, brand=obj.brand, values=values, max_total=total, by=by, at=at
            )
            page: Any = self.admin_site.get_model_admin(type(approval))
            page.record_action(request, [approval], gettext_noop("Approval requested"))
            most = approvals.ceiling(brand=obj.brand, reward_type=self.reward_type(obj))
            self.message_user(request, waiting_message(most, pending_approvals), messages.WARNING)


def waiting_message(most: Decimal, postponed: Mapping[str, PendingApproval]) -> str:
    """The message to the person who requested the change."""
    until = ", ".join(grouped(it.current) for it in postponed.values())
    message = _(
        "Above the ceiling of %(most)s. A second manager or owner must approve it. Until then the value is %(until)s."
    )
    return message % {"most": grouped(most), "until": until}
