"""Closed-loop load by wrk, and upper limits by pgbench."""

import http.client
import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bench import site
from bench.harness import Scale, data_dir, say
from bench.processor import TICKS
from bench.site import Server, launcher
from bench.world import Scenario

CLIENTS = 8
THREADS = 2
ONCE = 0  # seconds: a single request, without wrk
SCRIPT = Path(__file__).with_name("wrk.lua")
LIMITS = Path(__file__).with_name("limits")
_seed = count(1)


@dataclass(frozen=True, slots=True)
class Load:
    """Operations per second, and the microseconds of processor time per operation, by program."""

    rate: float
    operations: int
    spent: dict[str, float]

    @property
    def cost(self) -> float:
        """The cost of all programs together; less than a tick counts as one."""
        return sum(self.spent.values()) or 1e6 / TICKS / self.operations

    def __str__(self) -> str:
        spent = ", ".join(f"{name} {microseconds:,.0f}" for name, microseconds in self.spent.items())
        return f"{self.rate:,.0f}/s; us each: {spent}"


class Meter:
    """Processor time of servers and of the client, a child of this process that has ended when it is read."""

    def __init__(self, programs: dict[str, Server], names: Iterable[str]) -> None:
        self.programs, self.names = programs, names
        self.before = self.now()

    def now(self) -> dict[str, float]:
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {name: site.seconds(self.programs, name) for name in self.names} | {
            "client": own.ru_utime + own.ru_stime
        }

    def per(self, operations: int) -> dict[str, float]:
        """Microseconds per operation since the start."""
        return {name: (after - self.before[name]) / operations * 1e6 for name, after in self.now().items()}


def wrk(path: str, scenario: Scenario, *, seconds: int) -> tuple[int, float]:
    """8 clients for `seconds`, each request with its own code. Returns the number of requests and the seconds.

    Raises RuntimeError if a response was not 200.
    """
    if seconds == ONCE:
        return once(path, scenario)
    first = scenario.take(0)
    command = ["wrk", f"-c{CLIENTS}", f"-t{THREADS}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT)]
    command += [f"http://127.0.0.1:{site.PORT}", "--", path, str(first), str(scenario.quantity), str(scenario.tokens)]
    command += [str(THREADS), str(next(_seed))]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result = json.loads(output.rpartition("RESULT ")[2])
    # The threads run at their own pace, so one may have used more than half of the codes.
    scenario.take(int(result["requests"] * 1.5) + 1_000)
    if result["refused"] or result["broken"]:
        message = f"{path}: {result['refused']} requests refused, {result['broken']} broken of {result['requests']}"
        raise RuntimeError(message)
    return result["requests"], result["seconds"]


def once(path: str, scenario: Scenario) -> tuple[int, float]:
    code, token = scenario.code(scenario.take(1)), scenario.tokens.read_text().split()[0]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    began = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", site.PORT, timeout=30)) as wire:
        wire.request("POST", f"{path}{code}", '{"latitude":18.52,"longitude":73.85}', headers)
        answer = wire.getresponse()
        body = answer.read()
    if answer.status != 200:
        message = f"{path}: {answer.status} {body.decode()}"
        raise RuntimeError(message)
    return 1, time.perf_counter() - began


def metered_wrk(
    path: str, scenario: Scenario, programs: dict[str, Server], names: Iterable[str], *, seconds: int
) -> Load:
    meter = Meter(programs, names)
    requests, took = wrk(path, scenario, seconds=seconds)
    return Load(requests / took, requests, meter.per(requests))


class Pgbench:
    """The statements in limits/, on a separate database of the same server."""

    name = "limits"
    address = ("-h", f"{os.environ['DATA_DIR']}/run", "-U", "loyalty")

    def __init__(self, scale: Scale) -> None:
        self.codes = scale.pick(1_000_000, 1_000_000, 1_000)
        self.programs = launcher.servers.Programs.installed().postgres / "bin"
        self.next_code_file = data_dir() / "next_limit"  # the index of the first unscanned code
        if not self.next_code_file.exists():
            say("making the database of the limits ...")
            subprocess.run([self.programs / "createdb", *self.address, self.name], check=True)
            self.renew()

    def renew(self) -> None:
        """Recreate the tables: every code can be scanned once more."""
        command = [self.programs / "psql", *self.address, "-q", "-v", "ON_ERROR_STOP=1"]
        command += ["-v", f"codes={self.codes}", "-f", LIMITS / "schema.sql"]
        subprocess.run([*command, self.name], check=True, capture_output=True)
        self.next_code_file.write_text("0")

    def run(self, script: str, *, seconds: int) -> Load:
        """Run transactions with 8 clients."""
        base = int(self.next_code_file.read_text())
        if base > self.codes - 20_000 * seconds:
            self.renew()
            base = 0
        length = "-t 1" if seconds == ONCE else f"-T {seconds}"
        options = (
            f"-n -M prepared -c {CLIENTS} -j 2 {length} -D nc={CLIENTS} -D base={base} -D n=0 -D codes={self.codes} -f"
        )
        command = [self.programs / "pgbench", *self.address, *options.split(), LIMITS / f"{script}.sql", self.name]
        meter = Meter({}, ["postgres"])
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        match = re.search(r"actually processed: (\d+).*^tps = ([0-9.]+)", output, re.MULTILINE | re.DOTALL)
        assert match, output
        transactions = int(match[1])
        self.next_code_file.write_text(str(base + int(transactions * 1.5) + 1_000))
        return Load(float(match[2]), transactions, meter.per(transactions))
