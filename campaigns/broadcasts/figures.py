"""The figures of a broadcast: how many members it reached, and why it did not reach the others."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from campaigns.broadcasts.lifecycle import State
from core.db.statements import query
from core.db.timeouts import rollback_on_timeout
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.notifications import delivery

MAX_PER_RUN = 20  # broadcasts counted in one run, in random order, so that slow ones do not block the others
FINAL_AFTER = timedelta(minutes=5)  # since the broadcast ended


@dataclass(frozen=True, slots=True)
class Figures:
    """The audience, split by outcome: reached by at least one channel, waiting, failed in all channels, stopped by a
    cancellation, opted out; the remaining members have no usable address."""

    members: int
    reached: int
    waiting: int
    failed: int
    stopped: int
    opted_out: int

    @property
    def unreachable(self) -> int:
        return self.members - self.reached - self.waiting - self.failed - self.stopped - self.opted_out


COUNT_OUTCOMES = query("campaigns/broadcasts/sql/count_outcomes.sql", returns=Figures)


def latest(broadcast: Broadcast) -> Figures | None:
    """The stored figures, or those counted now. None if counting exceeds a page's statement timeout."""
    if broadcast.figures:
        return Figures(**broadcast.figures)
    with rollback_on_timeout():
        return COUNT_OUTCOMES.first(
            brand_id=broadcast.brand_id,
            key=broadcast.key,
            opted_out=delivery.OPTED_OUT,
            cancelled=delivery.CANCELLED,
            stopped_at=broadcast.finished_at if broadcast.state == State.CANCELLED else None,
        )
    return None


def store_final(*, at: datetime) -> int:
    """Store the figures of finished broadcasts, so that no page counts them again. Returns the number of broadcasts."""
    uncounted = Broadcast.objects.filter(figures__isnull=True, started_at__isnull=False)
    ended = uncounted.filter(finished_at__lte=at - FINAL_AFTER)
    stored = 0
    for broadcast in ended.filter(state__in=[State.SENT, State.CANCELLED]).order_by("?")[:MAX_PER_RUN]:
        figures = latest(broadcast)
        if figures is not None and not figures.waiting:
            rows = Broadcast.objects.filter(pk=broadcast.pk, state=broadcast.state, finished_at=broadcast.finished_at)
            stored += rows.update(figures=asdict(figures))
    return stored
