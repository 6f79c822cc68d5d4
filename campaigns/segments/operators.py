"""Operators of fields that only segments have. They validate the value of a condition; the database compares."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from campaigns.earning.comparisons import (
    AT_LEAST,
    AT_MOST,
    Operator,
    Test,
    WrongValueError,
    count,
    numeric,
    one_of,
    texts,
)
from campaigns.earning.fields import Field, Type

MAX_DAYS = 3650
MAX_SCORE = 5


def _compared_in_sql(_field: Field, _expected: Any) -> Test:
    """Replaces a test in Python, which only earning rules need."""
    raise NotImplementedError


def _days(value: Any) -> int:
    result = count(value)
    if result > MAX_DAYS:
        raise WrongValueError(_("At most %(most)d days.") % {"most": MAX_DAYS})
    return result


def _score(value: Any) -> int:
    result = count(value)
    if not 1 <= result <= MAX_SCORE:
        raise WrongValueError(_("Write a whole number from 1 to %(most)d.") % {"most": MAX_SCORE})
    return result


def _window(value: Any) -> tuple[int, int]:
    if not isinstance(value, Mapping) or set(value) != {"count", "days"}:
        raise WrongValueError(_("Give the number of times and the number of days."))
    times, days = count(value["count"]), _days(value["days"])
    if not days:
        raise WrongValueError(_("Write a whole number from 1."))
    return times, days


MEMBER_OPERATORS = {
    Type.AGE: numeric(_days, lambda _compare: _compared_in_sql),
    Type.SCORE: numeric(_score, lambda _compare: _compared_in_sql),
    Type.WINDOW: [
        Operator(name, label, _window, _compared_in_sql, "window") for name, label, _compare in (AT_LEAST, AT_MOST)
    ],
    Type.LABELLED: one_of(texts, "labels", _compared_in_sql),
}
