"""The time from when a scan is due until its points are committed, at a fixed rate (open loop).

A trigger makes PostgreSQL announce each ledger entry (NOTIFY) after the commit. So an announced entry is committed,
and its time is on the same clock as the request's. The announcement counts as our time; the floor shows its share.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from random import Random
from statistics import median, quantiles
from typing import Any

import psycopg
import redis
from django.conf import settings

from bench import processor, site, world
from bench.harness import Figure, Scale, other_load_figure, say
from bench.parts.scans.scan import VERIFY

PART = "latency"
SENDERS = 16
CHANNEL = "bench_ledger"
STOP = "stop"
BODY = json.dumps({"latitude": 18.52, "longitude": 73.85}).encode()
BACKLOG_SECONDS = 2
PATIENCE_SECONDS = 60
NOTIFY_ON_ENTRY = f"""
    CREATE OR REPLACE FUNCTION bench_announce() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('{CHANNEL}', NEW.reason_id); RETURN NULL; END $$;
    CREATE OR REPLACE TRIGGER bench_announce AFTER INSERT ON loyalty_transaction
    FOR EACH ROW EXECUTE FUNCTION bench_announce()
"""
SILENCE = "DROP TRIGGER bench_announce ON loyalty_transaction"


@contextmanager
def listening() -> Iterator[dict[str, float]]:
    """The announcements so far, each with its time on time.perf_counter."""
    heard: dict[str, float] = {}
    database = settings.DATABASES["default"]
    address = {"host": database["HOST"], "user": database["USER"], "dbname": database["NAME"]}
    with psycopg.connect(**address, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        thread = threading.Thread(target=listen, args=[connection, heard])
        thread.start()
        try:
            yield heard
        finally:
            notify(STOP)
            thread.join()


def listen(connection: psycopg.Connection, heard: dict[str, float]) -> None:
    for note in connection.notifies():
        heard[note.payload] = time.perf_counter()
        if note.payload == STOP:
            return


def notify(payload: str) -> None:
    world.run(f"SELECT pg_notify('{CHANNEL}', '{payload}')")


@dataclass(frozen=True, slots=True)
class Run:
    """Milliseconds per scan until the response, and until the points; and the scans without a timely announcement."""

    responses: list[float]
    points: list[float]
    backlog: int

    def __str__(self) -> str:
        return (
            f"response p50 {median(self.responses):.1f} ms; points p50 {median(self.points):.1f}, "
            f"p99 {last_percent(self.points):.1f} ms; backlog {self.backlog}"
        )


def last_percent(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def measure(scale: Scale) -> list[Figure]:
    short, long = scale.pick((30.0, 60.0), (8.0, 15.0), (0.1, 0.1))
    floors = scale.pick(300, 300, 10)
    here = world.ensure(scale)
    world.run(NOTIFY_ON_ENTRY)
    try:
        with site.running(site.commands(scale, "web", "worker"), scale):
            at_pace(here, rate=50, seconds=min(5, short))
            times_by_rate, shares = {}, []
            for rate, seconds in ((20, short), (100, short), (200, long)):
                with processor.watched() as other_processes:
                    times_by_rate[rate] = at_pace(here, rate=rate, seconds=seconds)
                shares.append(other_processes.share * 100)
                say(f"  {rate}/s for {seconds:g} s: {times_by_rate[rate]} (others used {other_processes.share:.0%})")
            notify_floors, hop = floor_of_notify(floors), floor_of_redis(floors)
    finally:
        world.run(SILENCE)
    return [
        *percentiles(20, times_by_rate[20], p50=20, p99=60),
        *percentiles(100, times_by_rate[100], p99=100),
        *percentiles(200, times_by_rate[200]),
        Figure(PART, "floor: one NOTIFY, committed and heard, p50", median(notify_floors), "ms"),
        Figure(PART, "floor: one message through Redis, p50", median(hop), "ms"),
        other_load_figure(PART, shares),
    ]


def percentiles(rate: int, run: Run, *, p50: float | None = None, p99: float | None = None) -> list[Figure]:
    each = f"{rate}/s: "
    own = median(run.points) / median(run.responses)
    return [
        Figure(PART, f"{each}request to points, p50", median(run.points), "ms", p50, at_least=False),
        Figure(PART, f"{each}request to points, p99", last_percent(run.points), "ms", p99, at_least=False),
        Figure(
            PART, f"{each}scans without points {BACKLOG_SECONDS} s after the end", run.backlog, "", 0, at_least=False
        ),
        Figure(PART, f"{each}median / the response's own median", own),
    ]


def at_pace(here: world.Scenario, *, rate: int, seconds: float) -> Run:
    """Send `rate` scans per second, each at its time, even if earlier ones have no answer yet."""
    total = round(rate * seconds)
    first = here.take(total)
    codes = [here.code(first + number) for number in range(total)]
    tokens = here.tokens.read_text().split()
    sent = Random(first)
    requests = [request(code, sent.choice(tokens)) for code in codes]
    with listening() as heard:
        start = time.perf_counter() + 0.2
        due = [start + number / rate for number in range(total)]
        answered = send_all(requests, due)
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while missing(codes, heard) and time.perf_counter() < deadline:
            time.sleep(0.1)
    if lost := missing(codes, heard):
        message = f"{len(lost)} scans earned no points within {PATIENCE_SECONDS} s, such as {lost[0]}"
        raise RuntimeError(message)
    points = [(heard[code] - moment) * 1000 for code, moment in zip(codes, due, strict=True)]
    late = due[-1] + BACKLOG_SECONDS
    backlog = sum(heard[code] > late for code in codes)
    return Run([(end - moment) * 1000 for end, moment in zip(answered, due, strict=True)], points, backlog)


def missing(codes: list[str], heard: dict[str, float]) -> list[str]:
    return [code for code in codes if code not in heard]


def request(code: str, token: str) -> bytes:
    head = f"POST {VERIFY}{code} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY


def send_all(requests: list[bytes], due: list[float]) -> list[float]:
    """When each was answered. There are enough senders for every due time; latency counts from the due time."""
    answered = [0.0] * len(requests)
    numbers, failures = count(), SimpleQueue[Any]()

    def send() -> None:
        try:
            with socket.create_connection(("127.0.0.1", site.PORT)) as wire:
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while (number := next(numbers)) < len(requests):
                    time.sleep(max(0, due[number] - time.perf_counter()))
                    exchange(wire, requests[number])
                    answered[number] = time.perf_counter()
        except (OSError, RuntimeError) as error:
            failures.put(error)

    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not failures.empty():
        raise RuntimeError(str(failures.get()))
    return answered


def exchange(wire: socket.socket, message: bytes) -> None:
    """Send a request and read its whole answer. Raises RuntimeError unless it is an accepted scan."""
    wire.sendall(message)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += received(wire)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += received(wire)
    if not head.startswith(b"HTTP/1.1 200") or b'"status":"success"' not in body:
        raise RuntimeError(f"{head.decode()}\n{body.decode()}")


def received(wire: socket.socket) -> bytes:
    piece = wire.recv(65_536)
    if not piece:
        raise RuntimeError("the server closed the connection")
    return piece


def floor_of_notify(times: int) -> list[float]:
    """Milliseconds from an announcement's statement to its receipt."""
    sent = {}
    with listening() as heard:
        for number in range(times):
            sent[str(number)] = time.perf_counter()
            notify(str(number))
            time.sleep(0.005)
        time.sleep(0.2)
    return [(heard[name] - moment) * 1000 for name, moment in sent.items()]


def floor_of_redis(times: int) -> list[float]:
    """Milliseconds from LPUSH to another process's waiting BLPOP."""
    address, key = settings.REDIS_URL, "bench:floor"
    child = os.fork()
    if child == 0:
        other = redis.Redis.from_url(address)
        for _ in range(times):
            sent = float(other.blpop([key])[1])
            other.rpush(f"{key}:seen", time.monotonic() - sent)
        os._exit(0)
    client = redis.Redis.from_url(address)
    for _ in range(times):
        client.lpush(key, time.monotonic())
        time.sleep(0.005)
    os.waitpid(child, 0)
    return [float(seconds) * 1000 for seconds in client.lrange(f"{key}:seen", 0, -1)]
