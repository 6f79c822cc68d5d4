"""Rate limits: counters in Redis that are exact over all threads, processes and hosts.

Without Redis each process counts for itself and allows less (`core/redis/in_process_limits.py`); names in
FAIL_CLOSED are rejected.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from math import ceil
from time import time

from django.conf import settings
from limits import RateLimitItem, parse
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter

from core.errors import RateLimited, Unavailable
from core.observability import metrics
from core.redis import in_process_limits
from core.redis.client import PAUSE_SECONDS, call_or_none, client_at, run
from core.web.client_address import NETWORK_BITS

# Limits against guessing passwords or other brands' prefixes: an hour without Redis must not allow unlimited guesses.
FAIL_CLOSED = {
    "login",
    "login_address",
    "register",
    "second_factor",
    "staff_mail",
    "invitation",
    "invitation_address",
    "prefix",
    "prefix_brand",
    "account_mail",
    "account_mail_address",
    "fake_report",
}
SITE_BITS = 48  # what a company usually gets: 65,536 networks of /64
NETWORK_SHARE = 10  # one network may make at most a tenth of the calls with a brand's app keys
SITE_FACTOR = 4  # all networks of a site together may make this many times the calls of one

# Moving windows, as in the library's own script. ARGV: now, and the amount and seconds of each. Returns the
# milliseconds to wait (0 for a counted call) and the deciding window. A rejected call counts in no window.
HIT = """
local now = tonumber(ARGV[1])
for number, key in ipairs(KEYS) do
    local oldest = tonumber(redis.call('lindex', key, ARGV[2 * number] - 1) or '')
    local seconds = tonumber(ARGV[2 * number + 1])
    if oldest and oldest >= now - seconds then
        return {math.max(1, math.ceil((oldest + seconds - now) * 1000)), number}
    end
end
for number, key in ipairs(KEYS) do
    redis.call('lpush', key, ARGV[1])
    redis.call('ltrim', key, 0, ARGV[2 * number] - 1)
    redis.call('expire', key, ARGV[2 * number + 1])
end
return {0, 0}
"""


def hit(name: str, *identifiers: object) -> None:
    """Count one call against the limit `name` of settings.RATE_LIMITS, for the combination of `identifiers`.

    An IPv6 network among them also counts for its site. Raises RateLimited with the time until the next call is
    allowed, and Unavailable for FAIL_CLOSED names without Redis.
    """
    item = limit(name)
    _hit(name, item, identifiers)
    sites = [site_of(str(each)) or each for each in identifiers]
    if sites != list(identifiers):
        _hit(name, item.__class__(item.amount * SITE_FACTOR, item.multiples), sites)


def _hit(name: str, item: RateLimitItem, identifiers: Sequence[object]) -> None:
    key = (name, *map(str, identifiers))
    passes = call_or_none(lambda: limiter().hit(item, *key))
    if passes is None:
        if name in FAIL_CLOSED:
            raise Unavailable
        in_process_limits.hit(window_key(item, *key), item.amount, item.get_expiry())
    elif not passes:
        metrics.limit_reached(name)
        raise RateLimited(retry_after=wait_seconds(item, *key))


def hit_brand(brand_id: int, *, app_network: str = "", other_limit: str = "") -> None:
    """Count one call with a key of the brand, in one round trip. Raises RateLimited.

    `app_network` is the network that a call with an app key comes from. Anyone can read such a key, so these calls
    count separately from those of hubs, and each network gets a part of them. `other_limit` names another limit of
    the brand that the call also counts against, as `hit(other_limit, brand_id)` would.
    """
    item = limit("brand")
    amounts = (
        _app_windows(item, brand_id, app_network) if app_network else {window_key(item, "brand", brand_id): item.amount}
    )
    windows = [("brand", key, amount, item.get_expiry()) for key, amount in amounts.items()]
    if other_limit:
        other = limit(other_limit)
        windows.append((other_limit, window_key(other, other_limit, brand_id), other.amount, other.get_expiry()))
    terms = [part for _name, _key, *those in windows for part in those]
    result = call_or_none(lambda: run(HIT, [key for _name, key, *_terms in windows], (time(), *terms)))
    if result is None:
        for _name, key, amount, seconds in windows:
            in_process_limits.hit(key, amount, seconds)
    elif result[0]:
        metrics.limit_reached(windows[result[1] - 1][0])
        raise RateLimited(retry_after=max(1, ceil(result[0] / 1000)))


def _app_windows(item: RateLimitItem, brand_id: int, network: str) -> dict[str, int]:
    """The allowed amounts by key, the narrowest first."""
    part = max(1, item.amount // NETWORK_SHARE)
    site = site_of(network)
    amounts = {
        network: part,
        **({site: min(item.amount, part * SITE_FACTOR)} if site else {}),
        "all": item.amount,
    }
    return {window_key(item, "brand", brand_id, "app", whose): amount for whose, amount in amounts.items()}


def wait_seconds(item: RateLimitItem, *identifiers: str) -> int:
    """Seconds until the oldest counted call leaves the window and the next one is allowed."""
    window = call_or_none(lambda: limiter().get_window_stats(item, *identifiers))
    return max(1, ceil(window.reset_time - time())) if window else PAUSE_SECONDS


def limit(name: str) -> RateLimitItem:
    return parsed(settings.RATE_LIMITS[name])


def window_key(item: RateLimitItem, *identifiers: object) -> str:
    """The library's key, so that both count in the same window."""
    return f"{RedisStorage.PREFIX}:{item.key_for(*map(str, identifiers))}"


@lru_cache(maxsize=4_096)
def site_of(network: str) -> str:
    """The site of an IPv6 network as `client_address` writes it. Empty for anything else."""
    prefix = "address:" if network.startswith("address:") else ""
    address, _, bits = network.removeprefix(prefix).partition("/")
    try:
        number = int(IPv6Address(address)) if bits == str(NETWORK_BITS) else None
    except ValueError:
        number = None
    spare = 128 - SITE_BITS
    return f"{prefix}{IPv6Address(number >> spare << spare)}/{SITE_BITS}" if number is not None else ""


parsed = lru_cache(maxsize=64)(parse)


def limiter() -> MovingWindowRateLimiter:
    return limiter_at(settings.REDIS_URL)


@lru_cache(maxsize=4)
def limiter_at(url: str) -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=client_at(url).connection_pool))
