"""What a worker takes of a lane next: what is due first, but of no brand for long while others wait."""

from collections import Counter
from collections.abc import Sequence

from django.conf import settings

from events import leases
from events.messages import CLOCK, LeasedEvent

# At most this part of a worker's time is spent on looking for other brands' events where there are none: to read past
# a hundred thousand of one brand takes 30 ms.
SEARCH_SHARE = 0.02


class Portions:
    """The portions that one worker takes of a lane.

    After a full one that is mostly of one brand those of the other brands come next, until nobody else has any. So a
    brand with thousands of events, as an order that reaches a milestone of many members makes them, delays the others'
    by a portion of its own.
    """

    def __init__(self, *, lane: str, limit: int) -> None:
        self.lane, self.limit = lane, limit
        self._served: set[int] = set()  # brands that had most of a full portion, and wait until the others had theirs
        self._search_at = 0.0

    def claim(self) -> list[LeasedEvent]:
        """The next portion, of at most `limit` events; empty if nothing is due."""
        taken = self._of_other_brands() if self._served and CLOCK() >= self._search_at else []
        if not taken:
            self._served.clear()
            taken = leases.claim(limit=self.limit, lane=self.lane)
        if (brand_id := self._main_brand(taken)) is not None:
            self._served.add(brand_id)
        return taken

    @property
    def is_crowded(self) -> bool:
        """Whether somebody filled a portion, and may have more."""
        return bool(self._served)

    def _of_other_brands(self) -> list[LeasedEvent]:
        began = CLOCK()
        taken = leases.claim_of_other_brands(brand_ids=sorted(self._served), limit=self.limit, lane=self.lane)
        if not taken:
            self._search_at = CLOCK() + (CLOCK() - began) / SEARCH_SHARE
        return taken

    def _main_brand(self, taken: Sequence[LeasedEvent]) -> int | None:
        """The brand that has more than half of a full portion."""
        if not settings.FAIR_SHARES or len(taken) < self.limit:
            return None
        brand_id, number = Counter(each.brand_id for each in taken).most_common(1)[0]
        return brand_id if number > self.limit / 2 else None
