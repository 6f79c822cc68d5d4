"""Reads the conditions of a segment, and compiles them to the statement that selects matching members."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from campaigns.earning import choices, conditions
from campaigns.earning.conditions import ALL, NONE, ConditionsError, Group, Row
from campaigns.earning.fields import Type
from campaigns.segments.fields import MEMBER_FIELDS, MemberField
from campaigns.segments.plan import Plan
from loyalty.points import levels

MAX_CONDITIONS = 25


def read(data: Any, *, brand: Brand) -> Group:
    """The conditions of a segment of this brand. Raises ConditionsError, also for rows that the brand does not have."""
    group = conditions.read_with(data, MEMBER_FIELDS)
    rows = list(group.rows())
    problems = _unknown(rows, brand) or _too_much(rows)
    if group.kind == ALL:
        problems |= _never([part for part in group.parts if isinstance(part, Row)])
    if problems:
        raise ConditionsError(problems)
    return group


def compiled(group: Group, *, brand: Brand, at: datetime) -> Plan:
    """The statement for conditions that were read. Runs one query, for the brand's levels."""
    plan = Plan(brand.pk, levels.levels_of(brand), at, {"brand_id": brand.pk}, zone=brand.zone)
    plan.condition = _group(plan, group, is_required=True)
    return plan


def plan_of(data: Any, *, brand: Brand, at: datetime) -> Plan:
    """Raises ConditionsError."""
    return compiled(read(data, brand=brand), brand=brand, at=at)


def _group(plan: Plan, group: Group, *, is_required: bool = False) -> str:
    """`is_required`: every member of the segment must fulfil the group."""
    is_required &= group.kind == ALL
    parts = []
    for part in group.parts:
        if isinstance(part, Group):
            parts.append(f"({_group(plan, part, is_required=is_required)})")
        else:
            plan.is_required = is_required
            parts.append(f"({_row(plan, part)})")
    if not parts:
        return "true"
    joined = (" AND " if group.kind == ALL else " OR ").join(parts)
    return f"NOT ({joined})" if group.kind == NONE else joined


def _row(plan: Plan, row: Row) -> str:
    return cast("MemberField", row.field).condition(plan, row)


def _unknown(rows: Sequence[Row], brand: Brand) -> dict[str, str]:
    """Reject products and levels that the brand does not have, and unknown options."""
    for row in rows:
        field = cast("MemberField", row.field)
        if field.type is Type.IDS and set(choices.labels_of(brand, field.choices, row.value)) != set(row.value):
            message = _("One of the values for %(field)s is gone. Remove it.")
            return {"": message % {"field": field.label}}
        if field.type is Type.LEVEL:
            names = {level.name.casefold() for level in levels.levels_of(brand)}
            if gone := next((name for name in _listed(row.value) if name not in names), None):
                message = _("There is no level “%(level)s”. Choose another one.")
                return {"": message % {"level": gone}}
        if field.type is Type.LABELLED and not set(row.value) <= {name for name, _label in field.labels}:
            return {"": _("Choose from the list.")}
    return {}


def _too_much(rows: Sequence[Row]) -> dict[str, str]:
    """Limit the conditions: each one reads its own rows, and so does each value of `all_of`."""
    if sum(len(row.value) if row.operator == "all_of" else 1 for row in rows) <= MAX_CONDITIONS:
        return {}
    return {"": _("Use at most %(most)d conditions and values that must all be true.") % {"most": MAX_CONDITIONS}}


def _listed(value: Any) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _never(rows: Sequence[Row]) -> dict[str, str]:
    """Reject contradictory rows: at least so often in some days, and at most less often in the same or more days."""
    windows = [row for row in rows if row.field.type is Type.WINDOW]
    for low in windows:
        for high in windows:
            if (low.field.name, low.operator, high.operator) == (high.field.name, "at_least", "at_most"):
                (least, days), (most, of_days) = low.value, high.value
                if least > most and of_days >= days:
                    message = _(
                        "The conditions about the %(field)s contradict each other: nothing can fulfil them all."
                    )
                    return {ALL: message % {"field": low.field.label}}
    return {}


def problem_of(data: Mapping[str, Any], *, brand: Brand) -> str:
    """Why conditions cannot be evaluated; empty if they can."""
    try:
        read(data, brand=brand)
    except ConditionsError as error:
        return str(error)
    return ""
