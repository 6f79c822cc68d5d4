"""Approvals of points above the ceiling: the only code that requests and decides them.

The requester cannot approve. Until then the row keeps its old value, or the ceiling. A trigger enforces the same rule
for all other writes of such rows.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.identity import roles
from brands.identity.roles import ACT
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Forbidden, Invalid
from loyalty.models.approvals import PointsApproval
from loyalty.models.levels import RewardType

MAX_PERCENT = Decimal(100)
MULTIPLIER, MAX_TIMES = "multiplier", Decimal(10)  # earning rules multiply points by it
# Set for the trigger: the approval that the transaction applies.
CARRY_OUT = "SELECT set_config('loyalty.points_approval', %s, true)"
Status = PointsApproval.Status


def ceiling(*, brand: Brand, reward_type: str = RewardType.POINTS) -> Decimal:
    """The maximum that one person may set: points, percent of a price, or a multiplier."""
    if reward_type == MULTIPLIER:
        return MAX_TIMES
    return MAX_PERCENT if reward_type == RewardType.PERCENTAGE else Decimal(brand.max_points_per_scan)


def request_approval(
    *, row: Any, brand: Brand, values: Mapping[str, Any], max_total: int | None, by: User, at: datetime
) -> PointsApproval:
    """Request approval of `values` of `row`, and withdraw its earlier requests. Call in a transaction."""
    withdraw(row=row, by=by, at=at)
    return PointsApproval.objects.create(
        brand=brand,
        kind=row._meta.label_lower,
        row_id=row.pk,
        row_name=str(row)[:200],
        values=dict(values),
        max_total=max_total,
        requested_by=by,
        requested_at=at,
    )


def withdraw(*, row: Any, by: User, at: datetime) -> int:
    """Withdraw the pending requests of `row`. Returns how many."""
    waiting = PointsApproval.objects.filter(kind=row._meta.label_lower, row_id=row.pk, status=Status.PENDING)
    return waiting.update(status=Status.WITHDRAWN, decided_by=by, decided_at=at)


def waiting_for(rows: Sequence[Any]) -> list[Any]:
    """Those of `rows` with a pending request. All must be of one model."""
    if not rows:
        return []
    kind = rows[0]._meta.label_lower
    waiting = PointsApproval.objects.filter(kind=kind, row_id__in=[row.pk for row in rows], status=Status.PENDING)
    ids = set(waiting.values_list("row_id", flat=True))
    return [row for row in rows if row.pk in ids]


def requested_values(row: Any) -> dict[str, Any]:
    """The values of the pending request of `row`; empty if there is none."""
    kind = row._meta.label_lower
    waiting = PointsApproval.objects.filter(kind=kind, row_id=row.pk, status=Status.PENDING)
    return waiting.values_list("values", flat=True).first() or {}


def may_decide(approval: PointsApproval, by: User) -> bool:
    return (
        approval.status == Status.PENDING
        and approval.requested_by_id != by.pk
        and approval.brand_id in roles.full_scope(by, ACT, "loyalty.pointsapproval")
    )


def approve(*, approval: PointsApproval, by: User, at: datetime) -> Model:
    """Write the approved values to the row, and return it. Raises Forbidden, or Invalid if it is no longer possible.

    The row is locked first, as when it is edited.
    """
    _check_role(approval, by)
    with transaction.atomic(), connection.cursor() as cursor:
        rows: Any = apps.get_model(approval.kind)._base_manager
        row: Model | None = (
            rows.select_for_update(no_key=True).filter(pk=approval.row_id, brand=approval.brand_id).first()
        )
        if row is None:
            raise Invalid(_("What this request would change no longer exists."))
        _decide(approval, Status.APPROVED, by, at)
        cursor.execute(CARRY_OUT, [str(approval.pk)])
        carry_out = import_string(settings.APPROVED_POINTS[approval.kind])
        carry_out(row=row, values=approval.values, max_total=approval.max_total, by=by, at=at)
        cursor.execute(CARRY_OUT, [""])
        return row


def reject(*, approval: PointsApproval, by: User, at: datetime) -> None:
    """Reject the request. The row does not change. Raises Forbidden or Invalid."""
    _check_role(approval, by)
    _decide(approval, Status.REJECTED, by, at)


def _check_role(approval: PointsApproval, by: User) -> None:
    if approval.brand_id not in roles.full_scope(by, ACT, "loyalty.pointsapproval"):
        raise Forbidden
    if approval.requested_by_id == by.pk:
        raise Forbidden(_("You cannot decide on your own request."))


def _decide(approval: PointsApproval, status: PointsApproval.Status, by: User, at: datetime) -> None:
    """Store the decision. Raises Invalid if there is one already."""
    waiting = PointsApproval.objects.filter(pk=approval.pk, status=Status.PENDING).exclude(requested_by=by)
    if not waiting.update(status=status, decided_by=by, decided_at=at):
        raise Invalid(_("This request has already been decided or withdrawn."))


def set_value(*, row: Any, values: Mapping[str, Any], max_total: Decimal | None, by: User, at: datetime) -> None:  # noqa: ARG001
    """Write approved values to a level or an earning rule. Named by settings.APPROVED_POINTS."""
    type(row).objects.filter(pk=row.pk).update(**{name: Decimal(value) for name, value in values.items()})
