"""Wakes a worker when there is something to deliver. A wake-up may fail: the sweeper finds what it missed."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from uuid import uuid4

from celery import current_app

from core.lease_keeper import Keeper
from core.redis.client import call_or_none, command, outage, run

logger = logging.getLogger(__name__)

CALL = "loyalty:worker-called"
HELP = "loyalty:help-called"
SLOT = "loyalty:slot"
# How long an unanswered wake-up counts; until then, further ones would add nothing.
CALL_LASTS_MS = 1_000
# A working worker promises to check again within this time. If it crashes, others wait no longer than this.
CHECK_LASTS_MS = 200
HELP_LASTS_MS = 200
# A process that has sent or found a wake-up sends no more for this time. A worker that ends one waits as long before
# its last check, so it sees what was published in between.
QUIET_SECONDS = 0.02
# A crashed worker's slot becomes free after this; live workers renew theirs.
SLOT_LASTS_MS = 8_000
SLOT_RENEWED_SECONDS = 2.0
# KEYS: a slot. ARGV: its holder, milliseconds. A lost slot is taken again if it is free.
RENEW = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
# The value of a wake-up that no worker has answered; afterwards it is the worker that promised to check again.
CALLED = "called"
# KEYS: a wake-up. ARGV: a worker, CALLED. Ends an unanswered wake-up or this worker's own promise.
DONE = """
local held = redis.call('get', KEYS[1])
if held == ARGV[1] or held == ARGV[2] then redis.call('del', KEYS[1]) end
return 1
"""
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return 0"

_quiet_until: dict[str, float] = {}  # by lane and this process's clock


@dataclass(frozen=True, slots=True)
class ConcurrencySlot:
    """One of a lane's slots, with its holder. An empty `name` means that nothing is counted."""

    name: str = ""
    holder: str = ""

    def renew(self) -> None:
        """Renew the slot; otherwise it becomes free after SLOT_LASTS_MS."""
        if self.name:
            call_or_none(lambda: run(RENEW, [self.name], [self.holder, SLOT_LASTS_MS]))

    def release(self) -> None:
        """Release the slot, unless another worker has it by now."""
        call_or_none(lambda: run(RELEASE, [self.name], [self.holder]))


def _renew(slots: Sequence[ConcurrencySlot]) -> None:
    for each in slots:
        each.renew()


keeper = Keeper[ConcurrencySlot]("concurrency slots", every=SLOT_RENEWED_SECONDS, renew=_renew)


def wake_worker(*, lane: str, queue: str) -> None:
    """Send one Celery message, unless one is under way or a worker will check again anyway.

    So under load one message stands for many events, and a scan costs at most a Redis SET instead of a publish.
    """
    now = monotonic()
    if now < _quiet_until.get(lane, 0):
        return
    if _call(CALL, CALL_LASTS_MS, lane, queue):
        _quiet_until[lane] = now + QUIET_SECONDS


def request_extra_worker(*, lane: str, queue: str) -> None:
    """Call one more worker: more is due than one worker claims at once."""
    _call(HELP, HELP_LASTS_MS, lane, queue)


def pass_on(*, lane: str, queue: str) -> None:
    """Let wake-ups count again and call another worker, because this one has begun something that may take long."""
    call_or_none(lambda: run(DONE, [f"{CALL}:{lane}"], [CALLED, CALLED]))
    _call(CALL, CALL_LASTS_MS, lane, queue)


def promise_recheck(*, lane: str, worker: str) -> None:
    """Spare publishers wake-ups for a moment. The caller must check once more after `done`."""
    call_or_none(lambda: command("SET", f"{CALL}:{lane}", worker, "PX", CHECK_LASTS_MS))


def done(*, lane: str, worker: str) -> None:
    """Let new events wake a worker again, unless another worker has promised to check again.

    Returns when no process relies on an earlier wake-up any longer.
    """
    call_or_none(lambda: run(DONE, [f"{CALL}:{lane}"], [worker, CALLED]))
    sleep(QUIET_SECONDS)


@contextmanager
def acquire_slot(*, lane: str, count: int | None) -> Iterator[ConcurrencySlot | None]:
    """A slot for one more worker of the lane, released at the end; None: all are taken.

    It only limits how many deliver at once: during a Redis outage every worker gets one, and the leases decide.
    """
    holder = uuid4().hex
    for number in range(count or 0):
        slot = ConcurrencySlot(f"{SLOT}:{lane}:{number}", holder)
        if call_or_none(lambda slot=slot: command("SET", slot.name, holder, "NX", "PX", SLOT_LASTS_MS)):  # type: ignore[misc]
            try:
                with keeper.holding([slot]):
                    yield slot
            finally:
                slot.release()
            return
    yield ConcurrencySlot() if not count or call_or_none(lambda: command("PING")) is None else None


def _call(key: str, milliseconds: int, lane: str, queue: str) -> bool:
    """Send a wake-up unless one is under way. Returns whether one is under way now."""
    if not call_or_none(lambda: command("SET", f"{key}:{lane}", CALLED, "NX", "PX", milliseconds)):
        return not outage.is_on
    try:
        current_app.send_task("events.tasks.deliver_due", kwargs={"lane": lane}, queue=queue, ignore_result=True)
    except Exception as error:  # noqa: BLE001 - whatever the broker's trouble, the sweeper finds the event
        logger.warning("no worker could be woken (%s); the sweeper will deliver", error)
        return False
    return True
