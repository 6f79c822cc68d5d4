"""A cheap phone on a slow line: Lighthouse's "slow 4G", and a processor four times as slow."""

from collections import Counter
from typing import Any

from playwright.sync_api import Page

SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
SLOWER = {"rate": 4}
# A page that was left out of sight is painted when it is looked at.
PAINTED = """
() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const found = list.getEntriesByName("first-contentful-paint");
    if (found.length) resolve(found[0].startTime);
  }).observe({ type: "paint", buffered: true });
})
"""


def slowed(page: Page) -> Counter[str]:
    """From now on the page is as on such a phone. Returns the bytes of each file, as they go over the line."""
    line: Any = page.context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", SLOW)
    line.send("Emulation.setCPUThrottlingRate", SLOWER)
    addresses: dict[str, str] = {}
    loaded: Counter[str] = Counter()
    line.on("Network.requestWillBeSent", lambda it: addresses.update({it["requestId"]: it["request"]["url"]}))
    line.on(
        "Network.loadingFinished",
        lambda it: loaded.update({addresses.get(it["requestId"], "?"): int(it["encodedDataLength"])}),
    )
    return loaded


def first_paint(page: Page) -> float:
    """Milliseconds from asking for the page until something of it could be read."""
    return float(page.evaluate(PAINTED))
