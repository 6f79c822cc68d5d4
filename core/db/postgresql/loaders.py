"""How moments and days are read.

A value outside the bounds of `core.moments` reads as the nearest bound: a page then shows a strange date instead of
failing. The CHECKs of the columns keep such values out of the tables.
"""

from datetime import date, datetime
from typing import Any

import psycopg
from django.db.backends.postgresql.psycopg_any import BaseTzLoader
from psycopg.adapt import AdaptersMap
from psycopg.types.datetime import DateLoader

from core.moments import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT


class MomentLoader(BaseTzLoader):  # type: ignore[misc] # untyped
    def load(self, data: Any) -> datetime:
        try:
            moment: datetime = super().load(data)
        except psycopg.DataError:  # before the year 1 or after 9999
            moment = FIRST_MOMENT if is_early(bytes(data)) else LAST_MOMENT
        return min(max(moment, FIRST_MOMENT), LAST_MOMENT)


class DayLoader(DateLoader):
    def load(self, data: Any) -> date:
        try:
            day = super().load(data)
        except psycopg.DataError:
            day = FIRST_DAY if is_early(bytes(data)) else LAST_DAY
        return min(max(day, FIRST_DAY), LAST_DAY)


def is_early(text: bytes) -> bool:
    return text.endswith(b"BC") or text == b"-infinity"


def register(adapters: AdaptersMap, timezone: Any) -> None:
    adapters.register_loader("timestamptz", type("MomentLoader", (MomentLoader,), {"timezone": timezone}))
    adapters.register_loader("date", DayLoader)
