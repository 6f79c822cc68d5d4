"""Wakes a worker up when there is something to deliver. It may fail: the sweeper finds what it missed."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from uuid import uuid4

from celery import current_app
from kombu.exceptions import OperationalError

from core.lease_keeper import Keeper
from core.redis.client import ask, command, outage, run

logger = logging.getLogger(__name__)

CALL = "loyalty:worker-called"
HELP = "loyalty:help-called"
SLOT = "loyalty:slot"
# A call that nobody answers stops counting after this; until then the next ones would add nothing to it.
CALL_LASTS_MS = 1_000
# What a worker promises that is at work: to look again within this. One that dies keeps others waiting no longer.
CHECK_LASTS_MS = 200
HELP_LASTS_MS = 200
# For so long a process that has called, or has found a call, calls no more. Whoever ends a call looks once more that
# much later, so what was published meanwhile is seen.
QUIET_SECONDS = 0.02
# A worker that dies frees its slot after this; those that live renew theirs.
SLOT_LASTS_MS = 8_000
SLOT_RENEWED_SECONDS = 2.0
# KEYS: a slot. ARGV: its holder, milliseconds. One that was lost meanwhile is taken again, if it is free.
RENEW = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
# What a call holds that no worker has heard yet; then whoever promised to look again.
CALLED = "called"
# KEYS: a call. ARGV: a worker, CALLED. It ends what it was called for or promised itself.
DONE = """
local held = redis.call('get', KEYS[1])
if held == ARGV[1] or held == ARGV[2] then redis.call('del', KEYS[1]) end
return 1
"""
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return 0"

_quiet_until: dict[str, float] = {}  # of each lane, by this process's clock


@dataclass(frozen=True, slots=True)
class ConcurrencySlot:
    """One of a lane's slots, with who holds it. `name` empty: there is nothing to count."""

    name: str = ""
    holder: str = ""

    def renew(self) -> None:
        """Still at work: hold the slot for a while more. Without this it is free for others after a time."""
        if self.name:
            ask(lambda: run(RENEW, [self.name], [self.holder, SLOT_LASTS_MS]))

    def release(self) -> None:
        """What has become somebody else's meanwhile stays theirs."""
        ask(lambda: run(RELEASE, [self.name], [self.holder]))


def _renew(slots: Sequence[ConcurrencySlot]) -> None:
    for each in slots:
        each.renew()


keeper = Keeper[ConcurrencySlot]("concurrency slots", every=SLOT_RENEWED_SECONDS, renew=_renew)


def wake_worker(*, lane: str, queue: str) -> None:
    """Send one Celery message, unless one is under way or a worker will look again anyway.

    Under load one message thus stands for many events, and a scan pays at most for a Redis SET instead of a publish.
    """
    now = monotonic()
    if now < _quiet_until.get(lane, 0):
        return
    if _call(CALL, CALL_LASTS_MS, lane, queue):
        _quiet_until[lane] = now + QUIET_SECONDS


def request_extra_worker(*, lane: str, queue: str) -> None:
    """One more worker: there is more due than one takes at a time."""
    _call(HELP, HELP_LASTS_MS, lane, queue)


def pass_on(*, lane: str, queue: str) -> None:
    """Whoever was called has begun something that may take long: the next call counts, and another looks now."""
    ask(lambda: run(DONE, [f"{CALL}:{lane}"], [CALLED, CALLED]))
    _call(CALL, CALL_LASTS_MS, lane, queue)


def promise_recheck(*, lane: str, worker: str) -> None:
    """Spare publishers the call for a moment. Whoever promises this must look after `done` once more."""
    ask(lambda: command("SET", f"{CALL}:{lane}", worker, "PX", CHECK_LASTS_MS))


def done(*, lane: str, worker: str) -> None:
    """From now on a new event needs a new call, unless another worker has promised to look again.

    Returns when no process counts on an earlier call any more.
    """
    ask(lambda: run(DONE, [f"{CALL}:{lane}"], [worker, CALLED]))
    sleep(QUIET_SECONDS)


@contextmanager
def acquire_slot(*, lane: str, count: int | None) -> Iterator[ConcurrencySlot | None]:
    """A slot for one more worker of the lane, released at the end; None: all are taken.

    Bounds how many deliver at once, no more: while Redis is away everybody gets one, and the leases decide.
    """
    holder = uuid4().hex
    for number in range(count or 0):
        slot = ConcurrencySlot(f"{SLOT}:{lane}:{number}", holder)
        if ask(lambda slot=slot: command("SET", slot.name, holder, "NX", "PX", SLOT_LASTS_MS)):  # type: ignore[misc]
            try:
                with keeper.holding([slot]):
                    yield slot
            finally:
                slot.release()
            return
    yield ConcurrencySlot() if not count or ask(lambda: command("PING")) is None else None


def _call(key: str, milliseconds: int, lane: str, queue: str) -> bool:
    """Whether a call is under way now."""
    if not ask(lambda: command("SET", f"{key}:{lane}", CALLED, "NX", "PX", milliseconds)):
        return not outage.is_on
    try:
        current_app.send_task("events.tasks.deliver_due", kwargs={"lane": lane}, queue=queue, ignore_result=True)
    except (OperationalError, OSError) as error:
        logger.warning("no worker could be woken (%s); the sweeper will deliver", error)
        return False
    return True
