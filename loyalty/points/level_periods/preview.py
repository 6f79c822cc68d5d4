"""Preview of level periods: the effect on a brand's members, before staff switch them on or change them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from brands.tenants import local_time
from core.db.statements import query
from core.db.timeouts import rollback_on_timeout
from core.errors import DomainError
from loyalty.points.level_periods.rules import DAY, LevelRule

# The time limit of the query. It would take longer for the largest brands.
MAX_SECONDS = 10


class PreviewTooLarge(DomainError, code="PREVIEW_TOO_LARGE", status=422):
    default_message = _("This brand has too many members to count them now. Try again at a quieter time.")


@dataclass(frozen=True, slots=True)
class LevelPreview:
    """The members of a level, and how many of them had too few points."""

    level: str
    members: int
    falling: int


@dataclass(frozen=True, slots=True)
class PeriodPreview:
    """The result if the last whole period, from `first` to `last`, decided. No level really falls before `falls_on`."""

    first: date
    last: date
    falls_on: date
    levels: Sequence[LevelPreview]

    @property
    def members(self) -> int:
        return sum(each.members for each in self.levels)

    @property
    def falling(self) -> int:
        return sum(each.falling for each in self.levels)


PREVIEW_FALLS = query("loyalty/points/level_periods/sql/preview_falls.sql", returns=LevelPreview)


def preview(*, brand: Brand, rule: LevelRule, at: datetime) -> PeriodPreview:
    """Raises PreviewTooLarge."""
    day = rule.today(at)
    last = day if rule.is_rolling else rule.counted_from(day) - DAY
    first = rule.counted_from(last)
    before = local_time.midnight(last + DAY, rule.zone)
    with rollback_on_timeout(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{MAX_SECONDS}s"])
        levels = PREVIEW_FALLS.all(brand_id=brand.pk, first=local_time.midnight(first, rule.zone), before=before)
        cursor.execute("SELECT set_config('statement_timeout', '0', true)")
        return PeriodPreview(first, last, rule.first_day_after_grace(rule.last_day_of_level(day)), levels)
    raise PreviewTooLarge
