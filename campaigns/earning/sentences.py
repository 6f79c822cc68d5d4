"""A rule as a sentence for marketers: when it counts, under which conditions, what it gives, how much at most."""

from collections.abc import Callable
from typing import Any

from django.utils import formats
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy

from brands.models.tenants import Brand
from campaigns.earning import choices, conditions, limits, own_fields
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.conditions import ALL, NONE, ConditionsError, Group, Row
from campaigns.earning.fields import Type
from campaigns.earning.limits import EVENT, EVENTS, EVER, MONEY, RULE, Limit, LimitsError
from campaigns.models.earning_rules import EarningRule, EarningRuleUse
from core.numbers import grouped, plural_number

Effect, Per, Basis, Kind = EarningRule.Effect, EarningRule.Per, EarningRule.Basis, EarningRule.Kind
Period = EarningRuleUse.Period

# Whole sentences, because the word order differs between languages. By period; RULE is for the rule in all.
POINTS: dict[str, Any] = {
    EVENT: ngettext_lazy("at most %(most)s point each time", "at most %(most)s points each time", "number"),
    Period.DAY: ngettext_lazy(
        "at most %(most)s point a day for each member", "at most %(most)s points a day for each member", "number"
    ),
    Period.WEEK: ngettext_lazy(
        "at most %(most)s point a week for each member", "at most %(most)s points a week for each member", "number"
    ),
    Period.MONTH: ngettext_lazy(
        "at most %(most)s point a month for each member", "at most %(most)s points a month for each member", "number"
    ),
    EVER: ngettext_lazy("at most %(most)s point for each member", "at most %(most)s points for each member", "number"),
    RULE: ngettext_lazy("at most %(most)s point in all", "at most %(most)s points in all", "number"),
}
TIMES: dict[str, Any] = {
    Period.DAY: ngettext_lazy(
        "at most %(most)s time a day for each member", "at most %(most)s times a day for each member", "number"
    ),
    Period.WEEK: ngettext_lazy(
        "at most %(most)s time a week for each member", "at most %(most)s times a week for each member", "number"
    ),
    Period.MONTH: ngettext_lazy(
        "at most %(most)s time a month for each member", "at most %(most)s times a month for each member", "number"
    ),
    EVER: ngettext_lazy("at most %(most)s time for each member", "at most %(most)s times for each member", "number"),
    RULE: ngettext_lazy("at most %(most)s time in all", "at most %(most)s times in all", "number"),
}


def sentence(rule: EarningRule) -> str:
    """Raises ConditionsError or LimitsError where the rule cannot be read."""
    group = conditions.read(rule.conditions, kind=rule.kind, own=own_fields.of_rule(rule))
    parts = [_when(rule)]
    if group.parts:
        parts.append(_("and %(conditions)s") % {"conditions": group_text(group, rule.brand)})
    if dates := _dates(rule):
        parts.append(dates)
    values = ", ".join([effect(rule), *(limit_text(each) for each in limits.read(rule.limits))])
    return f"{' '.join(parts)}: {values}."


def readable(rule: EarningRule) -> str:
    """The sentence; if the rule can no longer be read, the reason."""
    try:
        return sentence(rule)
    except (ConditionsError, LimitsError) as error:
        return str(error)


def _when(rule: EarningRule) -> str:
    texts: dict[str, str] = {
        Kind.SCAN: _("When somebody scans a product"),
        Kind.ORDER: _("When somebody orders"),
        Kind.PROFILE: _("When somebody completes a profile field"),
        Kind.LOGIN: _("When somebody logs in for the first time in a day"),
        Kind.MILESTONE: _("When a milestone pays points"),
        Kind.WELCOME: _("When somebody joins"),
        Kind.BIRTHDAY: _("When somebody has a birthday"),
    }
    return texts.get(rule.kind) or _("When “%(event)s” happens") % {"event": rule.kind_title}


def row_text(row: Row, brand: Brand) -> str:
    """Such as "category is one of Serums"."""
    operator = OPERATORS[row.field.type][row.operator]
    return f"{row.field.label} {operator.label} {value_text(row, brand)}"


def group_text(group: Group, brand: Brand, describe_row: Callable[[Row, Brand], str] = row_text) -> str:
    """Such as "category is one of Serums and level is one of Gold"."""
    parts = [
        f"({group_text(part, brand, describe_row)})" if isinstance(part, Group) else describe_row(part, brand)
        for part in group.parts
    ]
    joined = (_(" and ") if group.kind == ALL else _(" or ")).join(parts)
    return _("none of this holds: %(conditions)s") % {"conditions": joined} if group.kind == NONE else joined


def value_text(row: Row, brand: Brand) -> str:
    value, raw = row.value, row.raw
    if row.field.type is Type.IDS:
        names = choices.labels_of(brand, row.field.choices, value)
        return ", ".join(names.get(each, _("one that is gone")) for each in value)
    if row.field.type is Type.WEEKDAY:
        return ", ".join(str(WEEKDAYS[each - 1]) for each in value)
    if row.field.type is Type.DAY:
        days = value if isinstance(value, tuple) else (value,)
        return _(" and ").join(formats.date_format(day, "SHORT_DATE_FORMAT") for day in days)
    if row.field.type is Type.PLACE:
        message = _("%(kilometres)g km around %(latitude)g, %(longitude)g")
        return message % {"latitude": value[0], "longitude": value[1], "kilometres": value[2]}
    if row.field.type is Type.SWITCH:
        return _("yes") if value else _("no")
    if isinstance(raw, list | tuple):
        return (_(" and ") if row.operator == "between" else ", ").join(str(each) for each in raw)
    return str(raw)


def _dates(rule: EarningRule) -> str:
    zone = rule.brand.zone
    first, last = (
        " ".join(formats.date_format(each.astimezone(zone), part) for part in ("SHORT_DATE_FORMAT", "H:i"))
        if each
        else ""
        for each in (rule.starts_at, rule.ends_at)
    )
    if first and last:
        return _("from %(first)s to %(last)s") % {"first": first, "last": last}
    if first:
        return _("from %(first)s on") % {"first": first}
    return _("until %(last)s") % {"last": last} if last else ""


def effect(rule: EarningRule) -> str:
    """Such as "2 x points" or "10 points for each item that matches"."""
    value = display(rule.reward_value)
    if rule.reward_type == Effect.MULTIPLIER:
        return _("%(value)s x points") % {"value": value}
    if rule.reward_type == Effect.PERCENTAGE:
        if rule.basis == Basis.MATCHING:
            return _("%(value)s %% of what the matching items cost") % {"value": value}
        return _("%(value)s %% of the amount") % {"value": value}
    points = ngettext("%(value)s point", "%(value)s points", plural_number(rule.reward_value)) % {"value": value}
    if rule.reward_type == Effect.BONUS:
        points = _("%(points)s on top") % {"points": points}
    return _("%(points)s for each item that matches") % {"points": points} if rule.per == Per.ITEM else points


def limit_text(limit: Limit) -> str:
    """Such as "at most 500 points a month for each member"."""
    most = display(limit.most)
    if limit.per == RULE and limit.what == MONEY:
        message = _("at most %(most)s in money in all, at %(cost)s a point")
        return message % {"most": most, "cost": display(limit.point_cost or limit.most)}
    texts = TIMES if limit.what == EVENTS else POINTS
    text = texts[RULE] if limit.per == RULE else texts[limit.period]
    result: str = text % {"number": plural_number(limit.most), "most": most}
    return result


def display(number: Any) -> str:
    """Without trailing zeros."""
    return grouped(number.normalize())
