"""Counts the members that unsaved conditions select, and returns some of them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from brands.models.tenants import Brand
from campaigns.segments import member_conditions
from campaigns.segments.plan import planned_for_sets
from core.db import sql
from core.db.statements import part
from core.db.timeouts import rollback_on_timeout
from loyalty.models.accounts import UserPoints

COUNT_MEMBERS = part("campaigns/segments/sql/count_members.sql")


@dataclass(frozen=True, slots=True)
class Preview:
    """`count` is None if counting exceeded a page's statement timeout."""

    count: int | None
    sample: tuple[UserPoints, ...] = ()


def preview(conditions: Any, *, brand: Brand, at: datetime) -> Preview:
    """Raises ConditionsError."""
    plan = member_conditions.plan_of(conditions, brand=brand, at=at)
    statement = COUNT_MEMBERS.replace("{matching}", plan.text(among=False))
    with rollback_on_timeout():
        with planned_for_sets():
            [(count, account_ids)] = sql.rows(statement, plan.parameters)
        rows = UserPoints.objects.filter(brand=brand, pk__in=account_ids).select_related("user", "brand")
        return Preview(count, tuple(rows.order_by("pk")))
    return Preview(None)
