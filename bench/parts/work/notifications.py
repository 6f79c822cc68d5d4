"""The cost of follow-ups in a worker's time for an accrual, and the speed of notifications and mails."""

import time
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

from django.conf import settings
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from bench import world
from bench.harness import Figure, Scale, interleaved, ratio
from brands.models.people import User
from brands.models.tenants import Brand
from events import worker, worker_signals
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationSettings
from loyalty.models.wallets import Platform, WalletPass
from loyalty.models.webhooks import WebhookEndpoint, WebhookType

PART = "notifications"
NOTHING, NOTIFICATIONS, EVERYTHING = "off", "notifications on", "notifications, passes and webhooks on"


def measure(scale: Scale) -> list[Figure]:
    rounds, times = scale.pick((12, 200), (6, 60), (1, 5))
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    world.use_database("bench_notifications", new=True)
    brand = world.build(customers=500, codes=(3 * rounds + 4) * times, history=0)
    NotificationSettings.objects.create(brand=brand, merge_seconds=0, is_active=False)
    codes = AuthCode.objects.filter(scan_count=0).values_list("code", flat=True).iterator()
    people = cycle(User.objects.filter(registered_brand=brand).values_list("pk", flat=True))

    def accruals(following: str) -> float:
        """Milliseconds of a worker per accrual, including storing follow-up events, which no worker takes here."""
        switch(brand, following)
        for _ in range(times):
            scan.scan(scanned=next(codes), context=ScanContext(at=timezone.now(), user_id=next(people)))
        began = time.perf_counter()
        done = worker.drain()
        spent = (time.perf_counter() - began - worker_signals.QUIET_SECONDS) * 1000 / done
        assert done == times
        return spent

    ways: dict[str, Any] = {name: partial(accruals, name) for name in (NOTHING, NOTIFICATIONS, EVERYTHING)}
    for way in ways.values():
        way()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    switch(brand, NOTIFICATIONS)
    return [
        other_load,
        ratio(
            PART,
            "accrual: notifications on / off",
            results_by_name[NOTIFICATIONS],
            results_by_name[NOTHING],
            goal=1.10,
            at_least=False,
        ),
        ratio(
            PART,
            f"accrual: {EVERYTHING} / off",
            results_by_name[EVERYTHING],
            results_by_name[NOTHING],
            goal=1.10,
            at_least=False,
        ),
        *(Figure(PART, f"accrual: {name}", round(median(each), 3), "ms") for name, each in results_by_name.items()),
        *lanes(),
    ]


def switch(brand: Brand, following: str) -> None:
    """Set which follow-ups the brand's accruals have from now on."""
    NotificationSettings.objects.filter(brand=brand).update(is_active=following != NOTHING)
    WalletPass.objects.filter(brand=brand).delete()
    WebhookEndpoint.objects.filter(brand=brand).delete()
    if following == EVERYTHING:
        members = UserPoints.objects.filter(brand=brand)
        WalletPass.objects.bulk_create(
            WalletPass(account=member, brand=brand, platform=Platform.APPLE) for member in members
        )
        WebhookEndpoint.objects.create(
            brand=brand, url="https://hub.example.com/", types=[WebhookType.POINTS_EARNED], secret="unused"
        )


def lanes() -> list[Figure]:
    """Process what waits, in one process: `notify` and `send-notice`, then the mail itself, which is discarded."""
    figures = []
    for lane, name in (("notices", "events gathered and addressed"), ("email", "mails made and noted")):
        began = time.perf_counter()
        done = worker.drain(lane=lane)
        figures.append(Figure(PART, name, round(done / (time.perf_counter() - began)), "/s"))
    return figures
