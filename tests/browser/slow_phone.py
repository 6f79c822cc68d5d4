"""A cheap phone on a slow line: Lighthouse's "slow 4G", and a processor four times as slow."""

from collections import Counter
from typing import Any

from playwright.sync_api import Page

SLOW_NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
SLOW_PROCESSOR = {"rate": 4}
# A page in the background is painted only when it becomes visible.
FIRST_PAINT = """
() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const found = list.getEntriesByName("first-contentful-paint");
    if (found.length) resolve(found[0].startTime);
  }).observe({ type: "paint", buffered: true });
})
"""


def slow_down(page: Page) -> Counter[str]:
    """Slow the page down like such a phone; return the bytes of each file as it is transferred."""
    session: Any = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW_NETWORK)
    session.send("Emulation.setCPUThrottlingRate", SLOW_PROCESSOR)
    addresses: dict[str, str] = {}
    loaded: Counter[str] = Counter()
    session.on("Network.requestWillBeSent", lambda it: addresses.update({it["requestId"]: it["request"]["url"]}))
    session.on(
        "Network.loadingFinished",
        lambda it: loaded.update({addresses.get(it["requestId"], "?"): int(it["encodedDataLength"])}),
    )
    return loaded


def first_paint(page: Page) -> float:
    """Milliseconds from the request of the page to its first painted content."""
    return float(page.evaluate(FIRST_PAINT))
