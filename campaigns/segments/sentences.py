"""A segment as a sentence for marketers."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.tenants import Brand
from campaigns.earning import sentences
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.conditions import ConditionsError, Row
from campaigns.earning.fields import Type
from campaigns.segments import member_conditions
from campaigns.segments.fields import CONSENTS
from loyalty.models.programme.segments import Segment

OPTION_LABELS = dict(CONSENTS)


def sentence(data: Any, *, brand: Brand) -> str:
    """Raises ConditionsError."""
    group = member_conditions.read(data, brand=brand)
    if not group.parts:
        return _("Every active member.")
    return _("Members for whom this is true: %(conditions)s.") % {
        "conditions": sentences.group_text(group, brand, row_text)
    }


def readable(segment: Segment) -> str:
    """The sentence; if the conditions can no longer be read, the reason."""
    try:
        return sentence(segment.conditions, brand=segment.brand)
    except ConditionsError as error:
        return str(error)


def row_text(row: Row, brand: Brand) -> str:
    """Such as "accepted scans is at least 3 in 30 days"."""
    if row.field.type is Type.WINDOW:
        count, days = row.value
        message = ngettext(
            "%(field)s %(operator)s %(count)d in %(days)d day",
            "%(field)s %(operator)s %(count)d in %(days)d days",
            days,
        )
        operator = OPERATORS[row.field.type][row.operator].label
        return message % {"field": row.field.label, "operator": operator, "count": count, "days": days}
    if row.field.type is Type.LABELLED:
        operator = OPERATORS[row.field.type][row.operator].label
        return f"{row.field.label} {operator} {', '.join(option_label(each) for each in row.value)}"
    return sentences.row_text(row, brand)


def option_label(name: str) -> str:
    """Such as "Rewards and reminders (E-mail)"."""
    topic, channel = OPTION_LABELS[name]
    return f"{topic} ({channel})"
