"""Scan and accrual together, through the real web server and worker, until every event is done: pairs per second."""

import time
from dataclasses import dataclass
from functools import partial

from bench import load, site, world
from bench.harness import Figure, Scale, interleaved, orientation, ratio
from bench.parts.scans.scan import VERIFY
from bench.site import Server

PART = "pairs"
LEDGER = "SELECT COALESCE(pg_sequence_last_value('loyalty_transaction_loyalty_transaction_id_seq'), 0)"
UNSETTLED = "SELECT count(*) FROM authcodes_scan WHERE points_status = 'pending'"
LAST_ACCRUAL = """SELECT extract(epoch FROM max("createdAt"))::float FROM loyalty_transaction"""
PATIENCE_SECONDS = 300
SPENT_IN = ("web", "worker", "jobs", "stock-worker", "postgres", "valkey")


@dataclass(frozen=True, slots=True)
class Pairs(load.Load):
    """Its rate is from the first request to the last commit; `backlog_seconds`: the worker's time after it."""

    backlog_seconds: float

    def __str__(self) -> str:
        return f"{load.Load.__str__(self)}; backlog of {self.backlog_seconds:.1f} s"


def measure(scale: Scale) -> list[Figure]:
    seconds, rounds = scale.pick((8, 4), (4, 2), (load.ONCE, 1))
    here = world.ensure(scale)
    limits = load.Pgbench(scale)
    with (
        site.running(site.commands(scale, "web", "worker", "jobs"), scale) as programs,
        site.running(site.stock_worker(), scale, settings="bench.settings_stock") as stock,
    ):
        everything = {**programs, **stock}
        ways = {
            "platform": partial(pairs, VERIFY, here, everything, seconds=seconds),
            # A plain worker falls far behind, so a shorter run is enough.
            "plain ORM": partial(pairs, "/bench/orm/", here, everything, seconds=min(seconds, max(2, seconds // 2))),
        }
        for way in ways.values():
            way()
        ways["pgbench"] = partial(limits.run, "both_multi", seconds=min(seconds, 5))
        results_by_name, other_load = interleaved(PART, rounds, ways)
    rate = {name: [each.rate for each in results] for name, results in results_by_name.items()}
    cost = {name: [each.cost for each in results] for name, results in results_by_name.items()}
    platform = results_by_name["platform"]
    return [
        ratio(PART, "pairs / pgbench 10-statement pairs", rate["platform"], rate["pgbench"], goal=0.20),
        ratio(PART, "pairs / plain-ORM pairs", rate["platform"], rate["plain ORM"], goal=3),
        ratio(PART, "the same by processor time: / pgbench", cost["pgbench"], cost["platform"]),
        ratio(PART, "the same by processor time: / plain ORM", cost["plain ORM"], cost["platform"]),
        ratio(PART, "plain-ORM pairs / pgbench 10-statement pairs", rate["plain ORM"], rate["pgbench"]),
        *(orientation(PART, f"{name} pairs, 8 clients", values, "/s") for name, values in rate.items()),
        orientation(PART, "backlog when the requests end", [each.backlog_seconds for each in platform], "s"),
        *(
            orientation(
                PART, f"{name} pair: processor time of {program}", [each.spent[program] for each in results], "us"
            )
            for name, results in results_by_name.items()
            for program in results[0].spent
        ),
        other_load,
    ]


def pairs(path: str, here: world.Scenario, programs: dict[str, Server], *, seconds: int) -> Pairs:
    """Load for `seconds`, then wait for the last accrual. Raises RuntimeError if a scan got no ledger entry."""
    # Every ledger entry takes a sequence number, so the last number gives their count at no cost.
    before = world.value(LEDGER)
    meter = load.Meter(programs, SPENT_IN)
    began = time.time()
    scans, _ = load.wrk(path, here, seconds=seconds)
    ended = time.time()
    while world.value(LEDGER) < before + scans or world.value(UNSETTLED):
        if time.time() > ended + PATIENCE_SECONDS:
            message = f"{path}: {world.value(UNSETTLED)} scans are still unsettled"
            raise RuntimeError(message)
        time.sleep(0.05)
    last = world.value(LAST_ACCRUAL)
    return Pairs(scans / (last - began), scans, meter.per(scans), max(0, last - ended))
