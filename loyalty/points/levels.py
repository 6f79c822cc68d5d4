"""The levels that lifetime points reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from brands.models.tenants import Brand
from loyalty.models.levels import BrandLevel


@dataclass(frozen=True, slots=True)
class Level:
    """A brand's level: `threshold` in lifetime points, and the reward of a scan in points or percent."""

    name: str
    threshold: Decimal
    scan_reward_type: str
    scan_reward_value: Decimal
    translations: Mapping[str, Any] = field(default_factory=dict, compare=False)  # translations of name and benefits
    benefits: str = field(default="", compare=False)  # one benefit per line


def current_level(*, levels: Sequence[Level], name: str) -> Level | None:
    """The level that counts for a customer's scans: the named one, else the lowest. None if the brand has none."""
    for level in levels:
        if level.name == name:
            return level
    return levels[0] if levels else None


def level_named(*, levels: Sequence[Level], name: str) -> Level | None:
    """The brand's level of that name, or None if it no longer exists."""
    return next((level for level in levels if level.name == name), None)


def reached(*, levels: Sequence[Level], lifetime: Decimal) -> Level | None:
    """The highest level that `lifetime` points reach. `levels` must be sorted, lowest first."""
    for level in reversed(levels):
        if level.threshold <= lifetime:
            return level
    return None


def following(*, levels: Sequence[Level], name: str, lifetime: Decimal) -> Level | None:
    """The first level above the level `name` that `lifetime` points do not reach, or None at the top."""
    own = level_named(levels=levels, name=name)
    passed = max(lifetime, own.threshold) if own else lifetime
    return next((level for level in levels if level.threshold > passed), None)


def level_after(*, levels: Sequence[Level], name: str, lifetime: Decimal) -> str:
    """The name of the customer's level with so many points, starting from the level `name`. Levels never go down."""
    top = reached(levels=levels, lifetime=lifetime)
    if top is None or top.name == name:
        return name
    now = level_named(levels=levels, name=name)
    return name if now and top.threshold <= now.threshold else top.name


def newly_reached(*, levels: Sequence[Level], name: str, before: Decimal, after: Decimal) -> bool:
    """Whether these points reached the level `name`, rather than a threshold that was lowered in the meantime."""
    return any(level.name == name and before < level.threshold <= after for level in levels)


def levels_of(brand: Brand) -> list[Level]:
    fields = ("name", "threshold", "scan_reward_type", "scan_reward_value", "translations", "benefits")
    return [Level(*row) for row in BrandLevel.objects.filter(brand=brand).order_by("threshold").values_list(*fields)]
