"""Generating codes: batches.generate against one raw INSERT ... SELECT into the same table with the same indexes."""

import time
from functools import partial
from pathlib import Path

from django.utils import timezone

from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from bench import fill, world
from bench.harness import Figure, Scale, interleaved, orientation, ratio, say
from tests.support import factories

PART = "generate"
RAW = fill.insert(
    AuthCode,
    "FROM generate_series(0, %(last)s) AS i",
    code="'B' || lpad(i::text, 10, '0')",
    brand_id="%(brand)s",
    batch_id="%(batch)s",
    product_id="%(product)s",
)


def measure(scale: Scale) -> list[Figure]:
    quantity, rounds = scale.pick((1_000_000, 3), (200_000, 3), (500, 1))
    world.use_database("bench_generate", new=True)
    batch = empty_batch(quantity)
    growth: list[float] = []
    chunks: list[int] = []
    ways = {
        "generate": partial(generated, batch, growth, chunks),
        "INSERT ... SELECT": partial(inserted, batch),
    }
    for way in ways.values():
        way()
    growth.clear()
    chunks.clear()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    own, raw = results_by_name.values()
    say(f"  progress was told {chunks[-1]} times; memory grew by {max(growth):.1f} MB")
    goal = {"goal": 1.3, "at_least": False}
    return [
        ratio(PART, f"{quantity:,} codes / one raw INSERT ... SELECT", own, raw, **goal),
        Figure(PART, "growth of memory meanwhile", max(growth), "MB", 20, at_least=False),
        Figure(PART, "times that progress was told", chunks[-1], "", quantity / 50_000),
        orientation(PART, f"{quantity:,} codes", own, "s"),
        orientation(PART, f"{quantity:,} codes, raw", raw, "s"),
        other_load,
    ]


def empty_batch(quantity: int) -> BatchRange:
    brand = factories.brand()
    return world.batch_of(brand, factories.product(brand), quantity=quantity, prefix=world.PREFIX)


def emptied(batch: BatchRange) -> None:
    """Empty the table, and write out everything left by the previous run."""
    world.run("TRUNCATE authcodes_authcode CASCADE")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=0)
    world.run("CHECKPOINT")


def generated(batch: BatchRange, growth: list[float], chunks: list[int]) -> float:
    emptied(batch)
    reported = []
    before = reset_peak_memory()
    began = time.perf_counter()
    batches.generate(batch_id=batch.pk, at=timezone.now(), progress=lambda done, of: reported.append((done, of)))
    spent = time.perf_counter() - began
    growth.append(memory("VmHWM") - before)
    chunks.append(len(reported))
    check(batch)
    return spent


def inserted(batch: BatchRange) -> float:
    emptied(batch)
    own = {"brand": batch.brand_id, "batch": batch.pk, "product": batch.product_id, "last": batch.quantity - 1}
    began = time.perf_counter()
    world.run(RAW, own)
    spent = time.perf_counter() - began
    check(batch)
    return spent


def check(batch: BatchRange) -> None:
    assert AuthCode.objects.filter(batch=batch).count() == batch.quantity


def reset_peak_memory() -> float:
    """Make the kernel restart its record of the peak. Returns the megabytes in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(name: str) -> float:
    """Megabytes of this process: VmRSS is current, VmHWM the peak."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024
