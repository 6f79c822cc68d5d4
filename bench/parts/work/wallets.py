"""Wallet passes: a change of a whole brand, signed packages, pushes, and the cost of passes for accruals."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

from django.conf import settings
from django.db import connection
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from bench import fill, world
from bench.harness import Figure, Scale, interleaved, orientation, ratio, say
from bench.parts.scans.generate import memory, reset_peak_memory
from bench.parts.work.prints import in_separate_process
from brands.models.tenants import Brand
from events import publishing, worker
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletDevice, WalletPass
from loyalty.wallets import issuers, passes, renders
from tests.support.fakes import wallets

PART = "wallets"
MAX_GROWTH = 10  # MB


@dataclass(frozen=True, slots=True)
class Amounts:
    """Passes in total and pushed, accruals in a portion of a round, rounds, and repetitions of a package."""

    passes: int
    pushed: int
    portion: int
    rounds: int
    repeated: int = 500


FULL, QUICK, TINY = Amounts(10_000, 2_000, 100, 10), Amounts(10_000, 500, 100, 4), Amounts(40, 5, 3, 1, repeated=5)

# All passes share one encrypted token, whose content does not matter here.
ADD_PASSES = fill.insert(
    WalletPass,
    "FROM (SELECT * FROM user_points WHERE brand_id = %(brand)s ORDER BY user_point_id LIMIT %(count)s) a",
    account_id="user_point_id",
    brand_id="brand_id",
    platform="'apple'",
    token="%(token)s",
    state="'held'",
    pushed_version="1",
    current_version="1",
)
ADD_DEVICES = fill.insert(
    WalletDevice,
    "FROM loyalty_walletpass",
    wallet_pass_id="id",
    device="'device' || id",
    push_token="'token' || id || 'abcdef'",
    pushed_version="1",
)


def measure(scale: Scale) -> list[Figure]:
    world.use_database("bench_wallets", new=True)
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    settings.WALLET_MERGE_SECONDS = 0
    os.environ["SSL_CERT_FILE"] = wallets.root_file()
    amounts = scale.pick(FULL, QUICK, TINY)
    brand = filled(amounts)
    return [*brand_wide(brand, amounts), *pushed(brand, amounts.pushed), *alongside_accruals(brand, amounts)]


def filled(amounts: Amounts) -> Brand:
    """A brand with twice as many customers as passes, and codes to scan."""
    say(f"making {amounts.passes:,} passes ...")
    brand = world.build(customers=2 * amounts.passes, codes=200 * amounts.portion)
    brand.campaigns.update(is_active=False)  # a milestone's reward would add an accrual
    wallets.apple(brand, token=True)
    passes.issue(account=UserPoints.objects.filter(brand=brand).latest("pk"), platform="apple", at=timezone.now())
    world.run(ADD_PASSES, {"brand": brand.pk, "count": amounts.passes, "token": stored_token()})
    world.run("DELETE FROM loyalty_walletpass WHERE state = 'issued'")
    world.run(ADD_DEVICES)
    world.run("VACUUM ANALYZE")
    return brand


def stored_token() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT token FROM loyalty_walletpass LIMIT 1")
        token: str = cursor.fetchone()[0]
        return token


# --- A change of all passes ------------------------------------------------------------------------------------------


def brand_wide(brand: Brand, amounts: Amounts) -> list[Figure]:
    """Requested three times, queued once; then every device fetches, some with a second device right behind."""
    issuers.change_design(brand_id=brand.pk)
    began = time.perf_counter()
    for _ in range(3):
        assert passes.refresh_all(brand_id=brand.pk, at=timezone.now()) == amounts.passes
    queued = (time.perf_counter() - began) / 3
    waiting = world.value("SELECT count(*) FROM events_event WHERE status = 'pending' AND detail_type = 'refresh-pass'")
    connection.close()
    rate, by_processor, growth, repeated = in_separate_process(partial(rendered, amounts), brand.pk)
    return [
        Figure(PART, f"queueing {amounts.passes:,} updates, asked for once", queued, "s"),
        Figure(
            PART, "updates queued per pass, asked for three times", waiting / amounts.passes, "x", 1, at_least=False
        ),
        Figure(PART, f"{amounts.passes:,} passes read, signed and packed, one process", rate, "/s", 200),
        Figure(PART, "the same per second of processor time", by_processor, "/s"),
        Figure(PART, "memory that the last nine tenths of them took", growth, "MB", MAX_GROWTH, at_least=False),
        Figure(PART, "the same pass for a second device, not signed again", repeated, "/s"),
    ]


def rendered(amounts: Amounts, brand_id: int) -> tuple[float, float, float, float]:
    """Packages per second by the clock and by processor time; megabytes between the first tenth and the last; and
    repeated packages per second.
    """
    began, spent = time.perf_counter(), time.process_time()
    before = 0.0
    for number, each in enumerate(in_portions(brand_id)):
        if number == amounts.passes // 10:
            before = reset_peak_memory()
        content = renders.apple_package(wallet_pass=each, at=timezone.now())
        if number == 0:
            say(f"  a package has {len(content):,} bytes")
    rate = amounts.passes / (time.perf_counter() - began)
    by_processor = amounts.passes / (time.process_time() - spent)
    growth = memory("VmHWM") - before
    again = WalletPass.objects.filter(brand=brand_id).latest("pk")
    assert renders.apple_package(wallet_pass=again, at=timezone.now()) == content
    began = time.perf_counter()
    for _ in range(amounts.repeated):
        renders.apple_package(wallet_pass=again, at=timezone.now())
    return rate, by_processor, growth, amounts.repeated / (time.perf_counter() - began)


def in_portions(brand_id: int) -> Iterator[WalletPass]:
    """One by one as in requests, so that reading is included."""
    keys = list(WalletPass.objects.filter(brand=brand_id).order_by("pk").values_list("pk", flat=True))
    return (WalletPass.objects.filter(pk=key).get() for key in keys)


# --- Pushes ----------------------------------------------------------------------------------------------------------


def pushed(brand: Brand, count: int) -> list[Figure]:
    """Updates delivered by one worker thread to an APNs server on the same processor, which halves the rate."""
    pass_ids = WalletPass.objects.filter(brand=brand).order_by("pk").values_list("pk", flat=True)[:count]
    world.run("DELETE FROM events_event WHERE status = 'pending'")
    world.run("UPDATE loyalty_walletpass SET queued_version = NULL")
    messages = passes.bump_versions(passes=list(pass_ids), brand_id=brand.pk, at=timezone.now())
    publishing.publish(messages=messages, brand_id=brand.pk, at=timezone.now())
    with wallets.apns() as apns:
        settings.APNS_ADDRESS = apns.address
        began = time.perf_counter()
        assert worker.drain(lane="wallets") == count
        spent = time.perf_counter() - began
        assert len(set(apns.tokens)) == len(apns.tokens) == count
        connections = apns.connections
    return [
        Figure(PART, f"{count:,} updates pushed over HTTP/2 by one thread", count / spent, "/s"),
        Figure(PART, "connections that took", connections, "", 1, at_least=False),
    ]


# --- Accruals --------------------------------------------------------------------------------------------------------


def alongside_accruals(brand: Brand, amounts: Amounts) -> list[Figure]:
    """The points worker for members with passes, and for members without."""
    order = UserPoints.objects.filter(brand=brand).order_by("user_point_id").values_list("user_id", flat=True)
    holders, members_without_pass = list(order[: amounts.portion]), list(order[amounts.passes :][: amounts.portion])
    codes = AuthCode.objects.filter(brand=brand, scan_count=0).values_list("code", flat=True).iterator()
    ways = {
        "members with passes": partial(accrued, holders, codes),
        "members without": partial(accrued, members_without_pass, codes),
    }
    for way in ways.values():
        way()
    results_by_name, taken = interleaved(PART, amounts.rounds, ways)
    holding, without = ([by_clock for by_clock, _ in each] for each in results_by_name.values())
    busy, less_busy = ([by_processor for _, by_processor in each] for each in results_by_name.values())
    return [
        ratio(
            PART, "worker's processor time: members with passes / without", busy, less_busy, goal=1.10, at_least=False
        ),
        ratio(PART, "the same by the clock", holding, without),
        orientation(PART, "accrual, member without a pass", [seconds * 1e6 for seconds in without], "us"),
        orientation(PART, "accrual, member with a pass", [seconds * 1e6 for seconds in holding], "us"),
        taken,
    ]


def accrued(users: list[int], codes: Iterator[str]) -> tuple[float, float]:
    """Seconds of the worker per accrual, by the clock and by processor time: the medians of a round's portions."""
    spent, busy = [], []
    for _ in range(5):
        for user_id in users:
            scan.scan(scanned=next(codes), context=ScanContext(at=timezone.now(), user_id=user_id))
        began, worked = time.perf_counter(), time.process_time()
        assert worker.drain() == len(users)
        spent.append((time.perf_counter() - began) / len(users))
        busy.append((time.process_time() - worked) / len(users))
        world.run("DELETE FROM events_event WHERE status = 'pending'")
        world.run("UPDATE loyalty_walletpass SET queued_version = NULL")
    return median(spent), median(busy)
