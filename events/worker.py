"""Delivers all due events of a lane."""

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

# In a busy hour, larger portions make each event cheaper.
FEW, MAX_PATIENT = 4, 3
# From this size on, call another worker to share the work: some events may have to go one at a time.
MANY = 40


def drain(*, lane: str = POINTS, patience: float = 0, renew_slots: Callable[[], None] = lambda: None) -> int:
    """Deliver all due events of a lane, including new ones; returns how many.

    While it works, publishers need not wake a worker. After a portion that was not full, it waits `patience` seconds,
    up to MAX_PATIENT times as long after more than FEW events: events seldom come alone, and several cost little more.
    It does not wait after brands were passed over. Once wake-ups count again, it checks a last time for events
    published in between.
    """
    delivered, promised = 0, True  # the wake-up spared other publishers theirs
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
    """Like drain, with one of the lane's concurrency slots. If all are taken, their holders do the work.

    Brands take turns, and each has at most its share of the slots. As soon as a turn begins, another worker is called,
    because a turn may last as long as another server takes to answer.
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
    """Wake workers for slow lanes with due events; returns the number of these lanes."""
    now = timezone.now()
    due = [lane for lane in slow_lanes() if Event.objects.pending().filter(lane=lane, due_at__lte=now).exists()]
    for lane in due:
        call_worker(lane)
    return len(due)
