"""What a worker takes of a lane next: what is due first, but not from one brand for long while others wait."""

from django.conf import settings

from events import leases
from events.messages import CLOCK, LeasedEvent

# After a search that finds less than a portion of other brands' events, this share of a worker's time is left to the
# next ones: reading past a hundred thousand events of one brand takes 30 ms. The pause has a bound, whatever it took.
SEARCH_SHARE = 0.02
MAX_PAUSE_SECONDS = 2.0


class Portions:
    """The portions that one worker takes of a lane.

    After a full portion, the events of the brands that it has none of come next, and so on until these fill no portion
    any more; then it is again what is due first. So a brand with thousands of due events, such as an order that reaches
    thousands of milestones makes, delays the others by one portion; or, where a search has just found few others, until
    the next search.
    """

    def __init__(self, *, lane: str, limit: int) -> None:
        self.lane, self.limit = lane, limit
        self.passed_over = False  # whether brands were, for the portion that was taken last
        self._served: set[int] = set()  # brands with events in a full portion, which wait until the others had one
        self._alone: set[int] = set()  # the brands beside which the last search found less than a portion
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
        """Not for a while after a search past these brands, or past some of them, has found little."""
        return CLOCK() >= self._search_at or not self._served >= self._alone

    def _of_other_brands(self) -> list[LeasedEvent]:
        began = CLOCK()
        taken = leases.claim_of_other_brands(brand_ids=sorted(self._served), limit=self.limit, lane=self.lane)
        if len(taken) < self.limit:
            self._alone = set(self._served)
            self._search_at = CLOCK() + min((CLOCK() - began) / SEARCH_SHARE, MAX_PAUSE_SECONDS)
        return taken
