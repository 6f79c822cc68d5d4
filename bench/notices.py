"""What notifications add to a worker's time for an accrual, and how fast notices are gathered and mail is made."""

import time
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

from django.conf import settings
from django.utils import timezone

from authcodes import scanning
from authcodes.models import AuthCode
from authcodes.scanning import Circumstances
from bench import world
from bench.harness import Figure, interleaved, ratio
from brands.models import User
from loyalty import events
from loyalty.models import NoticeSettings

PART = "notices"


def measure(*, quick: bool) -> list[Figure]:
    rounds, times = (6, 60) if quick else (12, 200)
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    world.use_database("bench_notices", new=True)
    brand = world.build(customers=500, codes=(2 * rounds + 4) * times, history=0)
    own = NoticeSettings.objects.create(brand=brand, merge_seconds=0, is_active=False)
    codes = AuthCode.objects.filter(scan_count=0).values_list("code", flat=True).iterator()
    people = cycle(User.objects.filter(registered_brand=brand).values_list("pk", flat=True))

    def accruals(*, with_notices: bool) -> float:
        """Milliseconds of a worker per accrual, its `notify` event stored; nobody takes that one meanwhile."""
        NoticeSettings.objects.filter(pk=own.pk).update(is_active=with_notices)
        for _ in range(times):
            scanning.scan(scanned=next(codes), about=Circumstances(at=timezone.now(), user_id=next(people)))
        began = time.perf_counter()
        done = events.drain()
        spent = (time.perf_counter() - began) * 1000 / done
        assert done == times
        return spent

    ways: dict[str, Any] = {"off": partial(accruals, with_notices=False), "on": partial(accruals, with_notices=True)}
    for way in ways.values():
        way()
    found, others = interleaved(PART, rounds, ways)
    NoticeSettings.objects.filter(pk=own.pk).update(is_active=True)
    return [
        others,
        ratio(PART, "accrual: notifications on / off", found["on"], found["off"], goal=1.10, at_least=False),
        Figure(PART, "accrual: notifications off", round(median(found["off"]), 3), "ms"),
        Figure(PART, "accrual: notifications on", round(median(found["on"]), 3), "ms"),
        *lanes(),
    ]


def lanes() -> list[Figure]:
    """What waits now, in one process: `notify` and `send-notice`, then the mail itself, given to nobody."""
    figures = []
    for lane, name in (("notices", "events gathered and addressed"), ("email", "mails made and noted")):
        began = time.perf_counter()
        done = events.drain(lane=lane)
        figures.append(Figure(PART, name, round(done / (time.perf_counter() - began)), "/s"))
    return figures
