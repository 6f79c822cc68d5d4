"""A preview of the campaign as members will see it, from a form that may be incomplete."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.admin.wizard.milestone_rows import NEW, NOTHING, POINTS, ROWS, points_texts
from core.numbers import format_number

ZERO = Decimal(0)
MAX_POINTS = 10**8  # more than the column of points can hold


@dataclass(frozen=True, slots=True)
class PreviewMilestone:
    """A milestone on the line: its threshold, its position in percent, and what it gives."""

    at: int
    percent: float
    reward: str
    points: Decimal = ZERO
    is_thing: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    name: str
    goal: int
    milestones: Sequence[PreviewMilestone]

    @property
    def first_step(self) -> float:
        """How much of the bar one step fills, in percent."""
        return 100 / self.goal

    @property
    def worth(self) -> str:
        """What a member gets by reaching the goal once."""
        counted = {
            "[points]": format_number(sum((each.points for each in self.milestones), ZERO)),
            "[rewards]": str(sum(each.is_thing for each in self.milestones)),
        }
        text = _("points: [points], rewards: [rewards]")
        for name, value in counted.items():
            text = text.replace(name, value)
        return text


def of_form(form: Any) -> Preview:
    """The preview of what was entered or, on a new page, of the initial values.

    Unreadable values are left out, and so are milestones beyond the goal, which nobody can reach.
    """
    goal = _number(form["target_value"].value()) or 1
    milestones = []
    for number in range(1, ROWS + 1):
        at = _number(form[f"at_{number}"].value())
        if at is not None and at <= goal:
            percent = round(100 * at / goal, 1)
            gives, points = str(form[f"gives_{number}"].value() or NOTHING), _points(form, number)
            reward = _reward(form, number, gives, points)
            is_thing = gives not in {NOTHING, POINTS}
            milestones.append(PreviewMilestone(at, percent, reward, points if gives == POINTS else ZERO, is_thing))
    return Preview(str(form["name"].value() or ""), goal, sorted(milestones, key=lambda each: each.at))


def _number(value: Any) -> int | None:
    text = str(value or "").strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 8 and int(text) else None


def _points(form: Any, number: int) -> Decimal:
    field: Any = form.fields[f"points_{number}"]
    try:
        points: Decimal | None = field.to_python(form[f"points_{number}"].value())
    except ValidationError:
        return ZERO
    return points if points is not None and points.is_finite() and abs(points) < MAX_POINTS else ZERO


def _reward(form: Any, number: int, gives: str, points: Decimal) -> str:
    if gives == POINTS:
        return points_texts(points)[0] if points else ""
    if gives == NEW:
        return str(form[f"new_{number}"].value() or "")
    reward = form.rewards.get(gives.removeprefix("r"))
    return reward.name if reward else ""
