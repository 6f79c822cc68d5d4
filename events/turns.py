"""Turns of brands in the slow lanes: whose events a worker delivers next, and how many workers a brand may use."""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from django.conf import settings

from core.db.statements import query_values
from core.redis.client import call_or_none, command
from events import worker_signals
from events.worker_signals import ConcurrencySlot

FETCH_BRANDS_WITH_DUE = query_values("events/sql/fetch_brands_with_due.sql", "brand_id")


@dataclass(frozen=True, slots=True)
class Turn:
    """A worker's turn with one brand's events; `slots` are the brand's in this lane and in all lanes."""

    brand_id: int
    slots: Sequence[ConcurrencySlot]


@contextmanager
def turn(*, lane: str, workers: int) -> Iterator[Turn | None]:
    """The next turn: of the brand with due events that uses the fewest workers of this lane.

    None: nothing is due, or only for brands that use their share of the workers already.
    """
    with ExitStack() as outer:
        yield next(filter(None, (_acquired(each, lane, workers, outer) for each in _in_order(lane, workers))), None)


def renew(*holders: ConcurrencySlot | Turn) -> None:
    """Renew the slots while work continues."""
    for each in holders:
        for slot in each.slots if isinstance(each, Turn) else [each]:
            slot.renew()


def of_a_brand(workers: int) -> int:
    """How many of a lane's workers one brand may use: at least one, otherwise one less than there are."""
    return max(1, workers - 1)


def _in_order(lane: str, workers: int) -> list[int]:
    brand_ids: list[int] = FETCH_BRANDS_WITH_DUE.all(lane=lane)
    random.shuffle(brand_ids)
    names = [_name(lane, brand_id, number) for brand_id in brand_ids for number in range(of_a_brand(workers))]
    taken = call_or_none(lambda: command("MGET", *names)) if len(brand_ids) > 1 else None
    if not taken:
        return brand_ids
    each = of_a_brand(workers)
    busy = {brand_id: sum(map(bool, taken[at * each : (at + 1) * each])) for at, brand_id in enumerate(brand_ids)}
    return sorted(brand_ids, key=lambda brand_id: busy[brand_id])


def _acquired(brand_id: int, lane: str, workers: int, outer: ExitStack) -> Turn | None:
    with ExitStack() as acquired:
        limits = {f"{lane}:brand:{brand_id}": of_a_brand(workers), f"brand:{brand_id}": settings.OUTGOING_PER_BRAND}
        slots = [
            acquired.enter_context(worker_signals.acquire_slot(lane=name, count=most)) for name, most in limits.items()
        ]
        if not all(slots):
            return None
        outer.push(acquired.pop_all())
        return Turn(brand_id, [slot for slot in slots if slot])


def _name(lane: str, brand_id: int, number: int) -> str:
    return f"{worker_signals.SLOT}:{lane}:brand:{brand_id}:{number}"
