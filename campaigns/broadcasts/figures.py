"""What came of a broadcast: how many members it reached, and why not the others."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, transaction

from campaigns.broadcasts.lifecycle import State
from core.db.statements import query
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.notifications import delivery

MAX_PER_RUN = 20  # broadcasts that one run of the task counts, at random: none that takes too long stops the others
SETTLES_AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Figures:
    """Members, each in one of these: reached by at least one channel, on the way, refused by the channels, stopped by
    whoever cancelled it, unwilling; the remaining ones have no address that takes messages."""

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


def of(broadcast: Broadcast) -> Figures | None:
    """None where counting takes longer than a page may."""
    if broadcast.figures:
        return Figures(**broadcast.figures)
    try:
        with transaction.atomic():
            return COUNT_OUTCOMES.first(
                brand_id=broadcast.brand_id,
                key=broadcast.key,
                opted_out=delivery.OPTED_OUT,
                cancelled=delivery.CANCELLED,
                stopped_at=broadcast.finished_at if broadcast.state == State.CANCELLED else None,
            )
    except OperationalError:  # the time that a statement of a page has is over
        return None


def settle(*, at: datetime) -> int:
    """Store the figures of what is over, so that no page counts them again; returns of how many broadcasts."""
    uncounted = Broadcast.objects.filter(figures__isnull=True, started_at__isnull=False)
    ended = uncounted.filter(finished_at__lte=at - SETTLES_AFTER)
    settled = 0
    for broadcast in ended.filter(state__in=[State.SENT, State.CANCELLED]).order_by("?")[:MAX_PER_RUN]:
        figures = of(broadcast)
        if figures is not None and not figures.waiting:
            rows = Broadcast.objects.filter(pk=broadcast.pk, state=broadcast.state, finished_at=broadcast.finished_at)
            settled += rows.update(figures=asdict(figures))
    return settled
