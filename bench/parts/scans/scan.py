"""The scan request, compared with an empty view on the same server, and with pgbench doing one scan in one call."""

from functools import partial

from bench import load, site, world
from bench.harness import Figure, Scale, interleaved, orientation, ratio

PART = "scan"
VERIFY = "/api/v1/verify/product/"
WAYS = {
    "scan": VERIFY,
    "empty view": "/bench/empty/",
    "lean empty view": "/bench/lean/",
    "plain-ORM scan": "/bench/orm/",
}
SPENT_IN = ("web", "postgres", "valkey")


def measure(scale: Scale) -> list[Figure]:
    seconds, rounds = scale.pick((7, 5), (3, 3), (load.ONCE, 1))
    here = world.ensure(scale)
    limits = load.Pgbench(scale)
    with site.running({"web": site.commands(scale, "web")["web"]}, scale) as programs:
        for path in WAYS.values():
            load.wrk(path, here, seconds=min(2, seconds))
        ways = {
            name: partial(load.metered_wrk, path, here, programs, SPENT_IN, seconds=seconds)
            for name, path in WAYS.items()
        }
        ways["pgbench"] = partial(limits.run, "scan_fn", seconds=min(seconds, 5))
        results_by_name, other_load = interleaved(PART, rounds, ways)
    rejected = world.value("SELECT count(*) FROM authcodes_scan WHERE outcome <> 'success'")
    assert not rejected, f"{rejected} scans were refused"
    world.discard_pending()
    rate = {name: [each.rate for each in results] for name, results in results_by_name.items()}
    cost = {name: [each.cost for each in results] for name, results in results_by_name.items()}
    return [
        ratio(PART, "scan / empty authenticated view", rate["scan"], rate["empty view"], goal=0.35),
        ratio(PART, "scan / pgbench one-call scan", rate["scan"], rate["pgbench"], goal=0.08),
        ratio(PART, "the same by processor time: / empty view", cost["empty view"], cost["scan"]),
        ratio(PART, "the same by processor time: / pgbench", cost["pgbench"], cost["scan"]),
        ratio(PART, "scan / empty view of the platform's own parts", rate["scan"], rate["lean empty view"]),
        ratio(PART, "plain-ORM scan / empty authenticated view", rate["plain-ORM scan"], rate["empty view"]),
        ratio(PART, "plain-ORM scan / pgbench one-call scan", rate["plain-ORM scan"], rate["pgbench"]),
        *(orientation(PART, f"{name}, 8 clients", values, "/s") for name, values in rate.items()),
        *(
            orientation(PART, f"{name}: processor time of {program}", [each.spent[program] for each in results], "us")
            for name, results in results_by_name.items()
            for program in results[0].spent
        ),
        other_load,
    ]
