"""Conditions: groups of rows, all, any or none of which must hold. They are compiled once to functions of the context.

As data: `{"all": [{"field": "category", "operator": "in", "value": ["Serums"]}, {"any": [...]}]}`. They are never
evaluated as code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from campaigns.earning.action_context import ActionContext
from campaigns.earning.comparisons import OPERATORS, ProblemsError, Test, WrongValueError
from campaigns.earning.fields import FIELDS, Field, Needs, Type

ALL, ANY, NONE = "all", "any", "none"
GROUPS = (ALL, ANY, NONE)
MAX_DEPTH = 3
MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; `value` as the operator read it, `raw` as stored."""

    field: Field
    operator: str
    value: Any
    raw: Any

    def test(self) -> Test:
        return OPERATORS[self.field.type][self.operator].test(self.field, self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of `parts`, of which all, any or none must hold; without parts it holds."""

    kind: str
    parts: tuple["Row | Group", ...]

    def test(self) -> Test:
        tests = tuple(part.test() for part in self.parts)
        if not tests:
            return lambda _context: True
        if self.kind == ANY:
            return lambda context: any(test(context) for test in tests)
        if self.kind == NONE:
            return lambda context: not any(test(context) for test in tests)
        if len(tests) == 1:
            return tests[0]
        return _all_of(tests)

    def rows(self) -> Iterator[Row]:
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.rows()
            else:
                yield part


def _all_of(tests: Sequence[Test]) -> Test:
    """Uses a loop: a generator for each of a brand's rules would cost a scan as much as the tests themselves."""

    def test(context: ActionContext) -> bool:
        for each in tests:  # noqa: SIM110 - see above
            if not each(context):
                return False
        return True

    return test


EVERYTHING = Group(ALL, ())


class ConditionsError(ProblemsError):
    """Problems in conditions: for each path, such as `all[0].value`, what to fix."""


NO_FIELDS: Mapping[str, Field] = {}


def read(data: Any, *, kind: str, own: Mapping[str, Field] = NO_FIELDS) -> Group:
    """The conditions of a rule of this kind; `own`: the fields that only this kind has. Raises ConditionsError."""
    fields = {**FIELDS, **own}
    return read_with(data, {name: field for name, field in fields.items() if field.is_for(kind)})


def read_with(data: Any, fields: Mapping[str, Field]) -> Group:
    """Conditions on these fields. Raises ConditionsError."""
    problems: dict[str, str] = {}
    result = _group(data, fields, "", 1, problems) if data else EVERYTHING
    if not problems and result is not None and sum(1 for _row in result.rows()) > MAX_ROWS:
        problems[""] = _("At most %(most)d conditions.") % {"most": MAX_ROWS}
    if problems or result is None:
        raise ConditionsError(problems)
    return result


def _group(data: Any, fields: Mapping[str, Field], path: str, depth: int, problems: dict[str, str]) -> Group | None:
    if not isinstance(data, Mapping) or len(data) != 1 or next(iter(data)) not in GROUPS:
        problems[path] = _("A group is all, any or none of a list of conditions.")
        return None
    name, parts = next(iter(data.items()))
    here = f"{path}.{name}" if path else str(name)
    if not isinstance(parts, list | tuple) or len(parts) > MAX_ROWS:
        problems[here] = _("A group has a list of at most %(most)d conditions.") % {"most": MAX_ROWS}
        return None
    if depth > MAX_DEPTH:
        problems[here] = _("Groups can be nested at most %(most)d deep.") % {"most": MAX_DEPTH}
        return None
    result: list[Row | Group | None] = []
    for number, part in enumerate(parts):
        place = f"{here}[{number}]"
        is_row = isinstance(part, Mapping) and "field" in part
        result.append(
            _row(part, fields, place, problems) if is_row else _group(part, fields, place, depth + 1, problems)
        )
    if name == ALL and depth == 1 and None not in result:
        problems.update(_contradictions([part for part in result if isinstance(part, Row)], here))
    return Group(str(name), tuple(part for part in result if part is not None))


def _row(data: Mapping[str, Any], fields: Mapping[str, Field], path: str, problems: dict[str, str]) -> Row | None:
    unknown = set(data) - {"field", "operator", "value"}
    if unknown:
        problems[path] = _("A condition has a field, an operator and a value, and no %(name)s.") % {
            "name": min(map(str, unknown))
        }
        return None
    field = fields.get(str(data["field"]))
    if field is None:
        message = _("There is no field %(name)s for this kind of action.")
        problems[f"{path}.field"] = message % {"name": str(data["field"])[:60]}
        return None
    operator = OPERATORS[field.type].get(str(data.get("operator")))
    if operator is None:
        message = _("%(field)s takes one of: %(known)s.")
        problems[f"{path}.operator"] = message % {"field": field.name, "known": ", ".join(OPERATORS[field.type])}
        return None
    try:
        value = operator.read(data.get("value"))
        _check_options(field, value)
    except WrongValueError as error:
        problems[f"{path}.value"] = str(error)
        return None
    return Row(field, operator.name, value, data.get("value"))


def _check_options(field: Field, value: Any) -> None:
    """For a field with options, only these can be compared. Raises WrongValueError."""
    unknown = set(value) - {each.casefold() for each in field.options} if field.options else ()
    if unknown:
        message = _("%(value)s is none of: %(options)s.")
        raise WrongValueError(message % {"value": min(unknown), "options": ", ".join(field.options)})


def _contradictions(rows: Sequence[Row], path: str) -> dict[str, str]:
    """Fields for which no value can fulfil all rows: such a rule would never apply."""
    by_field: dict[str, list[Row]] = {}
    for row in rows:
        if row.field.is_single:
            by_field.setdefault(row.field.name, []).append(row)
    for result in by_field.values():
        if len(result) > 1 and (_no_range(result) or _no_choice(result)):
            message = _("The conditions about the %(field)s contradict each other: nothing can fulfil them all.")
            return {path: message % {"field": result[0].field.label}}
    return {}


RANGES = {Type.NUMBER, Type.INTEGER, Type.COUNT, Type.DAY, Type.SWITCH, Type.AGE, Type.SCORE}


def _no_range(rows: Sequence[Row]) -> bool:
    low: Any = None
    high: Any = None
    for row in rows:
        if row.field.type not in RANGES or row.operator == "every":
            continue
        first, last = range_of(row)
        low = first if low is None or (first is not None and first > low) else low
        high = last if high is None or (last is not None and last < high) else high
    return low is not None and high is not None and low > high


def range_of(row: Row) -> tuple[Any, Any]:
    """The bounds of a row's values; None where there is no bound."""
    if row.operator == "is":
        return row.value, row.value
    if row.operator == "between":
        return row.value[0], row.value[1]
    return (row.value, None) if row.operator in {"at_least", "from"} else (None, row.value)


def _no_choice(rows: Sequence[Row]) -> bool:
    chosen = [set(row.value) for row in rows if row.operator == "in"]
    if not chosen:
        return False
    left = set.intersection(*chosen)
    for row in rows:
        if row.operator == "not_in":
            left -= set(row.value)
    return not left


def needs_of(group: Group) -> Needs:
    """What must be read in addition to the action to test the group."""
    result = Needs.NOTHING
    for row in group.rows():
        result |= row.field.needs
    return result


def anchors_of(group: Group) -> tuple[tuple[str, Any], ...]:
    """Values of one field, one of which an action must have for the conditions to hold; empty if there are none.

    With these, only rules about the action's products, batches and so on are tested.
    """
    if group.kind != ALL:
        return ()
    listed = [part for part in group.parts if isinstance(part, Row) and part.field.is_anchor and part.operator == "in"]
    fewest = min(listed, key=lambda row: len(row.value), default=None)
    return tuple((fewest.field.name, value) for value in fewest.value) if fewest else ()


def failed(group: Group, context: ActionContext) -> list[Row]:
    """The rows that keep the conditions from holding; empty if they hold."""
    if group.test()(context):
        return []
    result: list[Row] = []
    for part in group.parts:
        holds = part.test()(context)
        if holds == (group.kind == NONE):
            result += [part] if isinstance(part, Row) else (failed(part, context) or list(part.rows()))
    return result
