"""Chooses a worker's next portion in a lane: the first due events, but not for long from one brand."""

from django.conf import settings

from events import leases
from events.messages import CLOCK, LeasedEvent

# After a search finds less than a full portion of other brands, later searches get this share of a worker's time: it
# takes 30 ms to skip a hundred thousand events of one brand. The pause has a maximum.
SEARCH_SHARE = 0.02
MAX_PAUSE_SECONDS = 2.0


class Portions:
    """The portions that one worker claims in a lane.

    After a full portion come events of brands that were not in it, and so on until these no longer fill a portion; then
    again the events that are due first. So a brand with thousands of due events delays the others by one portion, for
    example after an order that reaches thousands of milestones; or, if a search has just found few others, until the
    next search.
    """

    def __init__(self, *, lane: str, limit: int) -> None:
        self.lane, self.limit = lane, limit
        self.passed_over = False  # whether brands were passed over for the latest portion
        self._served: set[int] = set()  # brands in a full portion, which wait until the others had one
        self._alone: set[int] = set()  # the brands besides which the last search found less than a portion
        self._search_at = 0.0

    def claim(self) -> list[LeasedEvent]:
        """The next portion, of at most `limit` events; empty if nothing is due."""
        taken = self._of_other_brands() if self._served and self._may_search() else []
        self.passed_over = bool(taken)
        if not taken:
            self._served.clear()
            taken = leases.claim(limit=self.limit, lane=self.lane)
        if settings.FAIR_SHARES and len(taken) == self.limit:
            self._served.update(each.brand_id for each in taken)
        else:
            self._served.clear()
        return taken

    def _may_search(self) -> bool:
        """False for a while after a search for other brands than these, or some of them, has found few."""
        return CLOCK() >= self._search_at or not self._served >= self._alone

    def _of_other_brands(self) -> list[LeasedEvent]:
        began = CLOCK()
        taken = leases.claim_of_other_brands(brand_ids=sorted(self._served), limit=self.limit, lane=self.lane)
        if len(taken) < self.limit:
            self._alone = set(self._served)
            self._search_at = CLOCK() + min((CLOCK() - began) / SEARCH_SHARE, MAX_PAUSE_SECONDS)
        return taken
