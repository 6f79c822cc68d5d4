"""Delivers everything that is due in a lane."""

import time
import uuid
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.utils import timezone

from events import turns, worker_signals
from events.delivery import deliver_events, deliver_turn
from events.leases import claim_of, holding
from events.messages import POINTS, lane_named, slow_lanes
from events.models import Event
from events.portions import Portions
from events.publishing import call_worker

# In a busy hour portions grow, and with them what each event saves.
FEW, MAX_PATIENT = 4, 3
# From so many on another worker may take its part: some of them may have to go one at a time.
MANY = 40


def drain(*, lane: str = POINTS, patience: float = 0, renew_slots: Callable[[], None] = lambda: None) -> int:
    """Deliver everything that is due in a lane, and what comes meanwhile; returns how many events that was.

    While there is work nobody needs to call: this looks again, `patience` seconds after a portion that was not full
    unless a brand was passed over for it, because one seldom comes alone and several cost little more; up to
    MAX_PATIENT times as long where they are more than FEW. When a call counts again comes a last look, for what was
    published in between.
    """
    delivered, promised = 0, True  # whoever called us spared others their call
    terms, worker = lane_named(lane), uuid.uuid4().hex
    portions = Portions(lane=lane, limit=terms.batch)
    while True:
        taken = portions.claim()
        if taken:
            promised = True
            worker_signals.promise_recheck(lane=lane, worker=worker)
            if len(taken) >= min(MANY, terms.batch):
                worker_signals.request_extra_worker(lane=lane, queue=terms.queue)
            with holding(taken):
                deliver_events(taken, renew_slots=renew_slots)
            delivered += len(taken)
            if patience and len(taken) < terms.batch and not portions.passed_over:
                time.sleep(patience * min(MAX_PATIENT, max(1, len(taken) / FEW)))
        elif promised:
            promised = False
            worker_signals.done(lane=lane, worker=worker)
        else:
            return delivered


def drain_slow(*, lane: str) -> int:
    """As drain, with one of the lane's concurrency slots; where all are taken, their holders do the work.

    Brands take turns: each has a part of the slots at most, and as soon as a turn has begun another worker is called,
    for it may last as long as somebody else's server likes.
    """
    terms = lane_named(lane)
    with worker_signals.acquire_slot(lane=lane, count=terms.workers) as slot:
        if not slot:
            return 0
        if not settings.FAIR_SHARES:
            return drain(lane=lane, renew_slots=slot.renew)
        delivered, is_last_check = 0, False
        while True:
            with turns.turn(lane=lane, workers=terms.workers or 1) as turn:
                taken = claim_of(brand_id=turn.brand_id, limit=terms.batch, lane=lane) if turn else []
                if turn and taken:
                    worker_signals.pass_on(lane=lane, queue=terms.queue)
                    with holding(taken):
                        delivered += deliver_turn(taken, renew_slots=partial(turns.renew, slot, turn))
            if not taken and is_last_check:
                return delivered
            is_last_check = not taken
            if not taken:
                worker_signals.done(lane=lane, worker=worker_signals.CALLED)


def call_for_what_is_due() -> int:
    """Wake workers for the slow lanes in which something is due; returns how many lanes that are."""
    now = timezone.now()
    due = [lane for lane in slow_lanes() if Event.objects.pending().filter(lane=lane, due_at__lte=now).exists()]
    for lane in due:
        call_worker(lane)
    return len(due)
