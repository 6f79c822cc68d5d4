"""The operators of each type of field: which value each takes, and the test that it makes.

`read` rejects values that cannot be compared, so a test never fails at run time. A field that an action does not have
equals nothing: it passes only operators that test for absence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal, InvalidOperation
from math import asin, cos, radians, sin, sqrt
from operator import eq, ge, le
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.earning.action_context import ActionContext
from campaigns.earning.fields import Field, Type
from core import moments

Test = Callable[[ActionContext], bool]
EARTH_KM = 6371.0088
MAX_VALUES = 200
MAX_WORD_LENGTH = 200
MAX_NUMBER = Decimal(10) ** 12
MAX_ID = 2**63 - 1
MAX_DECIMAL_PLACES = 6


class WrongValueError(Exception):
    """A value that cannot be compared; the message says what to enter instead."""


class ProblemsError(Exception):
    """Problems in data that contains such values: for each path, such as `[0].most`, what to fix."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{path}: {message}" if path else message for path, message in problems.items()))


@dataclass(frozen=True, slots=True)
class Operator:
    """`read` converts the value or raises WrongValueError; `test` closes over it. `shape`: the kind of form input."""

    name: str
    label: Any
    read: Callable[[Any], Any]
    test: Callable[[Field, Any], Test]
    shape: str


def _listed(value: Any, one: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise WrongValueError(_("Give at least one value."))
    if len(value) > MAX_VALUES:
        raise WrongValueError(_("At most %(most)d values.") % {"most": MAX_VALUES})
    return tuple(dict.fromkeys(one(each) for each in value))


def _id(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(MAX_ID)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_ID:
        raise WrongValueError(_("Choose from the list."))
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_WORD_LENGTH or not value.isprintable():
        raise WrongValueError(_("Write a text of at most %(most)d characters.") % {"most": MAX_WORD_LENGTH})
    return value.strip().casefold()


def number(value: Any) -> Decimal:
    """Raises WrongValueError for anything that is not a valid amount."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Decimal | float):
            raise InvalidOperation
        result = Decimal(str(value)) if not isinstance(value, str) or value.isascii() else Decimal("NaN")
    except InvalidOperation:
        result = Decimal("NaN")
    if not result.is_finite() or abs(result) > MAX_NUMBER:
        raise WrongValueError(_("Write a number, such as 49.90."))
    if int(result.normalize().as_tuple().exponent) < -MAX_DECIMAL_PLACES:
        raise WrongValueError(_("Write a number with at most %(most)d decimal places.") % {"most": MAX_DECIMAL_PLACES})
    return result


def count(value: Any) -> int:
    result = number(value)
    if result != result.to_integral_value() or result < 0:
        raise WrongValueError(_("Write a whole number, such as 3."))
    return int(result)


def _whole(value: Any) -> int:
    result = number(value)
    if result != result.to_integral_value():
        raise WrongValueError(_("Write a whole number, such as 3."))
    return int(result)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(_("Choose yes or no."))
    return value


def _positive(value: Any) -> int:
    result = count(value)
    if result < 1:
        raise WrongValueError(_("Write a whole number from 1."))
    return result


def _weekday(value: Any) -> int:
    result = count(value)
    if not 1 <= result <= 7:
        raise WrongValueError(_("Write 1 for Monday to 7 for Sunday."))
    return result


def _time(value: Any) -> time:
    try:
        return moments.parse_time(value)
    except ValueError:
        raise WrongValueError(_("Write a time as HH:MM, such as 18:00.")) from None


def _day(value: Any) -> date:
    try:
        return moments.parse_day(value)
    except ValueError:
        raise WrongValueError(_("Write a day as YYYY-MM-DD, such as 2026-12-31.")) from None


def pair(one: Callable[[Any], Any], *, may_wrap: bool = False) -> Callable[[Any], tuple[Any, Any]]:
    """A reader of a first and a last value; with `may_wrap` the last may be smaller, like a time after midnight."""

    def read(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise WrongValueError(_("Give a first and a last value."))
        first, last = one(value[0]), one(value[1])
        if (first == last and may_wrap) or (first > last and not may_wrap):
            raise WrongValueError(_("The first value must come before the last."))
        return first, last

    return read


def _circle(value: Any) -> tuple[float, float, float]:
    if not isinstance(value, Mapping) or set(value) != {"latitude", "longitude", "kilometres"}:
        raise WrongValueError(_("Give a latitude, a longitude and kilometres."))
    latitude, longitude, kilometres = (float(number(value[name])) for name in ("latitude", "longitude", "kilometres"))
    if abs(latitude) > 90 or abs(longitude) > 180 or not 0 < kilometres <= 20_000:
        raise WrongValueError(_("Latitude -90 to 90, longitude -180 to 180, and up to 20,000 kilometres."))
    return latitude, longitude, kilometres


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _in(field: Field, expected: tuple[Any, ...]) -> Test:
    known, read = frozenset(expected), field.read
    if field.type is Type.IDS:
        return lambda context: not known.isdisjoint(read(context))
    if field.type is Type.WEEKDAY:
        return lambda context: read(context) in known
    return lambda context: any(_folded(each) in known for each in read(context))


def _has_all(field: Field, expected: tuple[Any, ...]) -> Test:
    known, read = frozenset(expected), field.read
    return lambda context: known <= {_folded(each) for each in read(context)}


def _starts(field: Field, expected: tuple[str, ...]) -> Test:
    read = field.read
    return lambda context: any(_folded(each).startswith(expected) for each in read(context))


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Field, Any], Test]:
    def test(field: Field, expected: Any) -> Test:
        read = field.read
        if field.is_single:

            def one(context: ActionContext) -> bool:
                value = read(context)
                return value is not None and compare(value, expected)

            return one

        def any_of(context: ActionContext) -> bool:
            for value in read(context):  # noqa: SIM110 - a generator costs more than the comparison
                if compare(value, expected):
                    return True
            return False

        return any_of

    return test


def _time_between(value: time, expected: tuple[time, time]) -> bool:
    """Whether the time is in the interval, without its end; 22:00 to 06:00 spans midnight."""
    first, last = expected
    return first <= value < last if first < last else value >= first or value < last


def _level_in(field: Field, expected: tuple[str, ...]) -> Test:
    known, read = frozenset(expected), field.read

    def test(context: ActionContext) -> bool:
        level = read(context)
        return level is not None and level.name.casefold() in known

    return test


def _level_at_least(_field: Field, expected: str) -> Test:
    def test(context: ActionContext) -> bool:
        lowest = next((level for level in context.levels if level.name.casefold() == expected), None)
        return lowest is not None and context.level is not None and context.level.threshold >= lowest.threshold

    return test


def kilometres_between(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The great-circle distance."""
    (south, west), (north, east) = ((radians(each[0]), radians(each[1])) for each in (first, second))
    a = sin((north - south) / 2) ** 2 + cos(south) * cos(north) * sin((east - west) / 2) ** 2
    return 2 * EARTH_KM * asin(min(1.0, sqrt(a)))


def _within(value: tuple[float, float], expected: tuple[float, float, float]) -> bool:
    return kilometres_between(value, expected[:2]) <= expected[2]


def texts(value: Any) -> tuple[str, ...]:
    return _listed(value, _word)


EQUAL = ("is", gettext_lazy("is"), eq)
AT_LEAST = ("at_least", gettext_lazy("is at least"), ge)
AT_MOST = ("at_most", gettext_lazy("is at most"), le)


def _between(value: Any, expected: tuple[Any, Any]) -> bool:
    return bool(expected[0] <= value <= expected[1])


def numeric(
    one: Callable[[Any], Any], compared: Callable[[Any], Callable[[Field, Any], Test]] = _compared
) -> list[Operator]:
    """The operators of numbers that `one` reads; `compared` makes the test of a comparison."""
    simple = [Operator(name, label, one, compared(test), "number") for name, label, test in (EQUAL, AT_LEAST, AT_MOST)]
    return [*simple, Operator("between", gettext_lazy("is between"), pair(one), compared(_between), "numbers")]


def one_of(
    read: Callable[[Any], tuple[Any, ...]], shape: str, test: Callable[[Field, Any], Test] = _in
) -> list[Operator]:
    """The operators of a list of values, of which the field must have one, or none; `test` makes the test for one."""

    def test_none(field: Field, expected: tuple[Any, ...]) -> Test:
        has_one = test(field, expected)
        return lambda context: not has_one(context)

    return [
        Operator("in", gettext_lazy("is one of"), read, test, shape),
        Operator("not_in", gettext_lazy("is none of"), read, test_none, shape),
    ]


_EVERY = Operator(
    "every",
    gettext_lazy("is a multiple of"),
    _positive,
    _compared(lambda value, step: value > 0 and value % step == 0),
    "number",
)
OPERATORS: dict[Type, dict[str, Operator]] = {
    type_: {operator.name: operator for operator in operators}
    for type_, operators in {
        Type.IDS: one_of(lambda value: _listed(value, _id), "choices"),
        Type.TEXTS: [
            *one_of(texts, "texts"),
            Operator("all_of", gettext_lazy("has all of"), texts, _has_all, "texts"),
            Operator("starts", gettext_lazy("begins with"), texts, _starts, "texts"),
        ],
        Type.NUMBER: numeric(number),
        Type.INTEGER: numeric(_whole),
        Type.COUNT: [*numeric(count), _EVERY],
        Type.SWITCH: [Operator("is", gettext_lazy("is"), _switch, _compared(eq), "switch")],
        Type.FIELD_OPTION: one_of(texts, "options"),
        Type.WEEKDAY: one_of(lambda value: _listed(value, _weekday), "weekdays"),
        Type.TIME: [
            Operator(
                "between", gettext_lazy("is between"), pair(_time, may_wrap=True), _compared(_time_between), "times"
            )
        ],
        Type.DAY: [
            Operator("from", gettext_lazy("is from"), _day, _compared(ge), "day"),
            Operator("until", gettext_lazy("is until"), _day, _compared(le), "day"),
            Operator("between", gettext_lazy("is between"), pair(_day), _compared(_between), "days"),
        ],
        Type.LEVEL: [
            *one_of(texts, "texts", _level_in),
            Operator("at_least", gettext_lazy("is at least"), _word, _level_at_least, "word"),
        ],
        Type.PLACE: [
            Operator("within", gettext_lazy("is within"), _circle, _compared(_within), "circle"),
            Operator(
                "outside",
                gettext_lazy("is outside"),
                _circle,
                _compared(lambda value, circle: not _within(value, circle)),
                "circle",
            ),
        ],
    }.items()
}
