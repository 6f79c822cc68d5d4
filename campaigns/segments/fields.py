"""The fields of segments: typed like those of rules, each with the SQL condition that it becomes.

The operators are those of earning rules and of operators.py: they read and reject values. The database compares. All
entered values are passed as parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from campaigns.earning.action_context import ActionContext
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.conditions import Row, range_of
from campaigns.earning.fields import Field, Type
from campaigns.segments.operators import MEMBER_OPERATORS
from campaigns.segments.plan import Plan, Source
from loyalty.models.notifications import Channel, Topic
from loyalty.points import ledger

LIFETIME = f"({ledger.lifetime_of('m')})"
COMPARISONS = {"is": "=", "at_least": ">=", "at_most": "<="}


def _nothing(_context: ActionContext) -> None:
    """Unused: members are not read from actions."""


@dataclass(frozen=True, slots=True)
class MemberField(Field):
    """`condition` converts a row to SQL for the plan's statement; `labels`: all possible values."""

    condition: Callable[[Plan, Row], str] = lambda _plan, _row: "true"
    labels: tuple[tuple[str, Any], ...] = ()


def field(
    name: str,
    label: Any,
    kind: Type,
    condition: Callable[[Plan, Row], str],
    *,
    choices: str = "",
    is_single: bool = True,
    labels: tuple[tuple[str, Any], ...] = (),
) -> MemberField:
    return MemberField(
        name, label, kind, _nothing, choices=choices, is_single=is_single, condition=condition, labels=labels
    )


# --- Account


def _level(plan: Plan, row: Row) -> str:
    """A member without a level, or with a deleted one, is in the lowest level, as elsewhere."""
    names = plan.level_names(row.operator, row.value)
    lowest = plan.levels[0].name if plan.levels else None
    known = plan.parameter([level.name for level in plan.levels], "text[]")
    matching = f"m.current_level = ANY ({plan.parameter(names, 'text[]')})"
    if lowest is None:
        return "true" if row.operator == "not_in" else "false"
    return f"({matching} OR m.current_level <> ALL ({known}))" if lowest in names else matching


def _number(expression: str) -> Callable[[Plan, Row], str]:
    def condition(plan: Plan, row: Row) -> str:
        if row.operator == "between":
            first, last = (plan.parameter(each, "numeric") for each in row.value)
            return f"{expression} BETWEEN {first} AND {last}"
        return f"{expression} {COMPARISONS[row.operator]} {plan.parameter(row.value, 'numeric')}"

    return condition


def _enrolled(plan: Plan, row: Row) -> str:
    low, high = range_of(row)
    parts = []
    if low is not None:
        parts.append(f"m.enrolled_at <= {plan.moment(Source.ENROLLED, low)}")
    if high is not None:
        parts.append(f"m.enrolled_at > {plan.moment(Source.ENROLLED, high + 1)}")
    return " AND ".join(parts)


def _last(plan: Plan, row: Row) -> str:
    """Members who have earned nothing count from the day of joining."""
    low, high = range_of(row)
    parts = []
    if low:
        parts.append(f"NOT {plan.any_since(Source.LEDGER, low)}")
        parts.append(f"m.enrolled_at <= {plan.moment(Source.ENROLLED, low)}")
    if high is not None:
        earned, moment = plan.count_since(Source.LEDGER, high + 1), plan.moment(Source.ENROLLED, high + 1)
        parts.append(f"({earned} IS NOT NULL OR m.enrolled_at > {moment})")
    return " AND ".join(parts) or "true"


def _birthday(plan: Plan, row: Row) -> str:
    """Never true for members whose birthday is unknown."""
    low, high = range_of(row)
    days = plan.birthdays_between(low or 0, high)
    return f"coalesce({plan.birthday()} = ANY ({days}), false)"


def _score(column: str) -> Callable[[Plan, Row], str]:
    return lambda plan, row: _number(plan.score(column))(plan, row)


# --- Activity


def _window(source: Source) -> Callable[[Plan, Row], str]:
    def condition(plan: Plan, row: Row) -> str:
        count, days = row.value
        if (row.operator, count) == ("at_least", 1):
            return plan.any_since(source, days)
        if (row.operator, count) == ("at_most", 0):
            return f"NOT {plan.any_since(source, days)}"
        times = plan.parameter(count, "bigint")
        return f"coalesce({plan.count_since(source, days)}, 0) {COMPARISONS[row.operator]} {times}"

    return condition


def _ever(text: str, kind: str, read: Callable[[Row], Any]) -> Callable[[Plan, Row], str]:
    """Whether any accepted scan of the member matches; for `outside` and `not_in`, whether none does."""

    def condition(plan: Plan, row: Row) -> str:
        has = plan.any_scan(text.format(value=plan.parameter(read(row), kind)))
        return f"NOT {has}" if row.operator in {"not_in", "outside"} else has

    return condition


def _texts(row: Row) -> list[str]:
    """In lowercase, as in the database."""
    return [text.strip().lower() for text in row.raw]


def _starting(row: Row) -> list[str]:
    special = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
    return [f"{text.translate(special)}%" for text in _texts(row)]


def _text(expression: str) -> Callable[[Plan, Row], str]:
    def condition(plan: Plan, row: Row) -> str:
        if row.operator == "all_of":
            return " AND ".join(plan.any_scan(f"{expression} = {plan.parameter(text, 'text')}") for text in _texts(row))
        if row.operator == "starts":
            return _ever(f"{expression} LIKE ANY ({{value}})", "text[]", _starting)(plan, row)
        return _ever(f"{expression} = ANY ({{value}})", "text[]", _texts)(plan, row)

    return condition


def _circle(plan: Plan, row: Row) -> str:
    latitude, longitude, kilometres = (plan.parameter(each, "float") for each in row.value)
    way = (
        f"sin(radians(s.latitude - {latitude}) / 2) ^ 2 + cos(radians({latitude})) * cos(radians(s.latitude))"
        f" * sin(radians(s.longitude - {longitude}) / 2) ^ 2"
    )
    near = f"s.latitude IS NOT NULL AND 2 * 6371.0088 * asin(least(1, sqrt({way}))) <= {kilometres}"
    has = plan.any_scan(near)
    return f"NOT {has}" if row.operator == "outside" else has


def _consent(plan: Plan, row: Row) -> str:
    """The database stores the topics that members opted out of; by default they receive all of them."""
    values = plan.parameter(sorted(row.value), "text[]")
    off = f"coalesce({plan.preferences()}, '{{}}')"
    return f"{off} @> {values}" if row.operator == "not_in" else f"NOT {off} @> {values}"


CONSENTS = tuple(
    (f"{topic.value}/{channel.value}", (topic.label, channel.label)) for topic in Topic for channel in Channel
)
MEMBER_FIELDS: dict[str, MemberField] = {
    each.name: each
    for each in (
        field("level", _("level"), Type.LEVEL, _level, choices="levels"),
        field("balance", _("points on the balance"), Type.NUMBER, _number("m.points")),
        field("lifetime", _("points earned in all"), Type.NUMBER, _number(LIFETIME)),
        field("days_since_last", _("days since points were last earned"), Type.AGE, _last),
        field("days_since_enrolled", _("days since joining"), Type.AGE, _enrolled),
        field("days_until_birthday", _("days until the birthday"), Type.AGE, _birthday),
        field("recency", _("RFM: recency, 1 to 5"), Type.SCORE, _score("recency")),
        field("frequency", _("RFM: frequency, 1 to 5"), Type.SCORE, _score("frequency")),
        field("value", _("RFM: points earned, 1 to 5"), Type.SCORE, _score("value")),
        field("scans", _("accepted scans"), Type.WINDOW, _window(Source.SCANS), is_single=False),
        field("orders", _("orders"), Type.WINDOW, _window(Source.ORDERS), is_single=False),
        field(
            "product",
            _("product scanned"),
            Type.IDS,
            _ever("s.product_id = ANY ({value})", "bigint[]", lambda row: list(row.value)),
            choices="products",
            is_single=False,
        ),
        field(
            "city",
            _("city of a scan"),
            Type.TEXTS,
            _text("lower(trim(split_part(s.location, ',', 1)))"),
            is_single=False,
        ),
        field(
            "region",
            _("region of a scan"),
            Type.TEXTS,
            _text("lower(trim(split_part(s.location, ',', 2)))"),
            is_single=False,
        ),
        field("place", _("place of a scan"), Type.PLACE, _circle, is_single=False),
        field("consent", _("wants to hear about"), Type.LABELLED, _consent, is_single=False, labels=CONSENTS),
    )
}
OPERATORS.update({kind: {each.name: each for each in listed} for kind, listed in MEMBER_OPERATORS.items()})
