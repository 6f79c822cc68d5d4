"""Budgets for trying codes, in one Redis script: for unknown codes, and for consecutive plain codes.

Anyone who knows one plain code can derive the others, so trying many different ones is limited whether or not they
exist: per customer, per network and per brand. A code with its tag cannot be guessed and does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from math import ceil
from time import time

from django.conf import settings
from limits.storage import RedisStorage

from brands.scanned import ParsedCode
from brands.tenants import stopped_attempts
from core.errors import RateLimited
from core.observability import metrics
from core.redis import client, in_process_limits, rate_limits

PREFIX = RedisStorage.PREFIX

# Checks how long each budget requires to wait. Only if none does, it uses all of them. Returns the milliseconds (0 for
# none) and the budget's number. KEYS: one for each budget. ARGV: now, the code's digest, and for each budget its kind,
# amount and seconds. Kinds: a lock, a moving window of calls, a set of different codes, or a count until the key
# expires. A count only covers codes that are new to all sets before it, so nobody adds more to it than to each of their
# own sets.
USE = """
local now, code, found, known, is_new = tonumber(ARGV[1]), ARGV[2], {}, {}, true
for number, key in ipairs(KEYS) do
    local at = 3 * number
    local kind, amount, seconds = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local wait = 0
    if kind == 'lock' then
        wait = redis.call('pttl', key)
    elseif kind == 'window' then
        local oldest = tonumber(redis.call('lindex', key, amount - 1) or '')
        if oldest and oldest >= now - seconds then wait = math.max(1, math.ceil((oldest + seconds - now) * 1000)) end
    elseif kind == 'set' then
        local kept = now - math.max(seconds, 86400)
        if known[key] == nil then known[key] = tonumber(redis.call('zscore', key, code) or 0) >= kept end
        is_new = is_new and not known[key]
        if not known[key] and redis.call('zcard', key) >= amount then
            redis.call('zremrangebyscore', key, '-inf', '(' .. kept)
            if redis.call('zcount', key, now - seconds, '+inf') >= amount then
                local last = redis.call('zrevrange', key, amount - 1, amount - 1, 'withscores')
                wait = math.max(1, math.ceil((tonumber(last[2]) + seconds - now) * 1000))
            end
        end
    elseif is_new and tonumber(redis.call('get', key) or 0) >= amount then
        wait = math.max(1, redis.call('pttl', key))
    end
    if wait > 0 then return {wait, number} end
    found[number] = {kind, key, amount, seconds}
end
for _, budget in ipairs(found) do
    local kind, key, amount, seconds = unpack(budget)
    if kind == 'window' then
        redis.call('lpush', key, ARGV[1])
        redis.call('ltrim', key, 0, amount - 1)
        redis.call('expire', key, seconds)
    elseif kind == 'set' and not known[key] then
        redis.call('zadd', key, now, code)
        redis.call('expire', key, math.max(seconds, 86400))
        known[key] = true
    elseif kind == 'count' and is_new then
        if redis.call('incr', key) == 1 then redis.call('expire', key, seconds) end
    end
end
return {0, 0}
"""
# KEYS: for each limit a window, and the lock that its last allowed call sets. ARGV: now, the lock's seconds, and for
# each window its amount and seconds. Returns how many windows rejected the call.
COUNT_UNKNOWN = """
local now, refused = tonumber(ARGV[1]), 0
for number = 1, #KEYS / 2 do
    local window, lock = KEYS[2 * number - 1], KEYS[2 * number]
    local amount, seconds = tonumber(ARGV[2 * number + 1]), tonumber(ARGV[2 * number + 2])
    local function is_full()
        local oldest = tonumber(redis.call('lindex', window, amount - 1) or '')
        return oldest and oldest >= now - seconds
    end
    if is_full() then
        refused = refused + 1
    else
        redis.call('lpush', window, ARGV[1])
        redis.call('ltrim', window, 0, amount - 1)
        redis.call('expire', window, seconds)
    end
    if is_full() then redis.call('set', lock, 1, 'ex', ARGV[2], 'nx') end
end
return refused
"""


class Scope(IntEnum):
    """What a budget limits, and so which exemptions apply to it."""

    CALLS = 0  # no exemption
    OWN = 1  # exempt: a good tag
    LOCK = 2  # of a whole network; exempt: a good tag, or an earlier accepted scan
    NETWORK = 3  # of new guessers; exempt: a good tag, or being known for some time


@dataclass(frozen=True, slots=True)
class Exemptions:
    """Only evaluated when a budget is used up, because they query the database."""

    has_good_tag: Callable[[], bool]
    has_earned: Callable[[], bool]
    is_established: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Guesser:
    """Who tries codes: `identity` (`user:7`, `address:...`) from `address`, through the app of `brand_id`, if any."""

    identity: str
    address: str
    brand_id: int | None = None

    @property
    def is_user(self) -> bool:
        return self.identity.startswith("user:")

    @property
    def networks(self) -> list[tuple[str, int]]:
        """The network, and the site of an IPv6 one, each with its multiple of the network's budget."""
        site = rate_limits.site_of(self.address)
        return [(self.address, 1), (site, rate_limits.SITE_FACTOR)] if site else [(self.address, 1)]


@dataclass(frozen=True, slots=True)
class Budget:
    name: str  # the name of its limit in settings.RATE_LIMITS
    scope: Scope
    kind: str
    key: str
    amount: int = 0
    seconds: int = 0


def check(guesser: Guesser, *, reading: ParsedCode | None, exemptions: Exemptions, calls: str | None) -> None:
    """Count one try of the code in `reading` (None: no code), and one call against the limit `calls`.

    Raises RateLimited for a limit that is used up, and during a lockout of the guesser or their network.
    """
    budgets = budgets_of(guesser, reading=reading, calls=calls)
    digest = sha256(reading.code.encode()).digest()[:8] if reading else b""
    rejected = use_budgets(budgets, digest)
    while rejected:
        seconds, budget = rejected
        exempt = exemptions_from(budget.scope, exemptions)
        if not exempt:
            note_stopped(guesser, budget)
            raise RateLimited(retry_after=seconds)
        budgets = [budget for budget in budgets if budget.scope not in exempt]
        rejected = use_budgets(budgets, digest)


def note_stopped(guesser: Guesser, budget: Budget) -> None:
    """Report it to operators, and to the brand's owner unless it is a mere limit of calls."""
    metrics.limit_reached(budget.name)
    if budget.scope != Scope.CALLS:
        stopped_attempts.count(stopped_attempts.CODES, guesser.brand_id)


def exemptions_from(scope: Scope, exemptions: Exemptions) -> set[Scope]:
    if scope == Scope.CALLS:
        return set()
    if exemptions.has_good_tag():
        return {Scope.OWN, Scope.LOCK, Scope.NETWORK}
    if scope == Scope.LOCK and (exemptions.has_earned() or exemptions.is_established()):
        return {Scope.LOCK}
    return {Scope.NETWORK} if scope == Scope.NETWORK and exemptions.is_established() else set()


def use_budgets(budgets: list[Budget], digest: bytes) -> tuple[int, Budget] | None:
    """Use all budgets once, or return the seconds to wait and the budget that is used up."""
    arguments = [part for budget in budgets for part in (budget.kind, budget.amount, budget.seconds)]
    keys = [budget.key for budget in budgets]
    answer = client.call_or_none(lambda: client.run(USE, keys, (time(), digest, *arguments)))
    if answer is None:
        for budget in budgets:
            if budget.kind != "lock":
                in_process_limits.hit(f"{budget.key}:{budget.seconds}", budget.amount, budget.seconds)
        return None
    milliseconds, number = answer
    return (max(1, ceil(milliseconds / 1000)), budgets[number - 1]) if milliseconds else None


def budgets_of(guesser: Guesser, *, reading: ParsedCode | None, calls: str | None) -> list[Budget]:
    result = [Budget("unknown_code", Scope.OWN, "lock", lock_key(guesser, guesser.identity))]
    result += [
        Budget("unknown_code_address", Scope.LOCK, "lock", lock_key(guesser, f"everybody:{network}"))
        for network, _factor in guesser.networks
    ]
    if calls:
        item = rate_limits.limit(calls)
        key = rate_limits.window_key(item, calls, guesser.identity)
        result.append(Budget(calls, Scope.CALLS, "window", key, item.amount, item.get_expiry()))
        site = rate_limits.site_of(guesser.address)
        if site and not guesser.is_user:
            key = rate_limits.window_key(item, calls, f"address:{site}")
            result.append(
                Budget(calls, Scope.CALLS, "window", key, item.amount * rate_limits.SITE_FACTOR, item.get_expiry())
            )
    return result + (plain_budgets(guesser, reading.code) if reading and not reading.tag else [])


def plain_budgets(guesser: Guesser, code: str) -> list[Budget]:
    """Budgets for different plain codes, and for the hundred codes that share all but the last two digits."""
    result = []
    if guesser.is_user:
        whose = f"{guesser.brand_id}:{guesser.identity}"
        result += [
            distinct_codes_budget(Scope.OWN, "plain_codes", whose),
            distinct_codes_budget(Scope.OWN, "plain_codes_day", whose),
            distinct_codes_budget(Scope.OWN, "plain_codes_near", f"{whose}:{code[:-2]}"),
        ]
    for network, factor in guesser.networks:
        whose = f"{guesser.brand_id}:{network}"
        result += [
            distinct_codes_budget(Scope.NETWORK, "plain_codes_network", whose, factor),
            distinct_codes_budget(Scope.NETWORK, "plain_codes_network_near", f"{whose}:{code[:-2]}", factor),
        ]
    item = rate_limits.limit("plain_codes_brand")
    key = f"{PREFIX}:plain_codes_brand:{guesser.brand_id}"
    return [*result, Budget("plain_codes_brand", Scope.NETWORK, "count", key, item.amount, item.get_expiry())]


def distinct_codes_budget(scope: Scope, name: str, whose: str, factor: int = 1) -> Budget:
    item = rate_limits.limit(name)
    # A customer's hourly and daily budgets share one set.
    key = f"{PREFIX}:{name.removesuffix('_day')}:{whose}"
    return Budget(name, scope, "set", key, item.amount * factor, item.get_expiry())


def count_unknown(guesser: Guesser) -> None:
    """Count an unknown code for the guesser and, with wider limits, for everyone in their network, because a guesser
    can register any number of customers. The last call that a limit allows sets the lock that `check` reads.

    Raises RateLimited if a limit has been used up since `check`: parallel guesses gain nothing.
    """
    own, wider = rate_limits.limit("unknown_code"), rate_limits.limit("unknown_code_address")
    counted = [("unknown_code", guesser.identity, guesser.identity, own, 1)]
    counted += [
        ("unknown_code_address", network, f"everybody:{network}", wider, factor) for network, factor in guesser.networks
    ]
    keys: list[str] = []
    counts: list[int] = []
    for name, whose, locked, item, factor in counted:
        keys += [rate_limits.window_key(item, name, guesser.brand_id, whose), lock_key(guesser, locked)]
        counts += [item.amount * factor, item.get_expiry()]
    seconds = settings.UNKNOWN_CODE_LOCK_SECONDS
    rejected = client.call_or_none(lambda: client.run(COUNT_UNKNOWN, keys, (time(), seconds, *counts)))
    if rejected is None:
        for number, key in enumerate(keys[::2]):
            in_process_limits.hit(key, counts[2 * number], counts[2 * number + 1])
    elif rejected:
        metrics.limit_reached("unknown_code")
        stopped_attempts.count(stopped_attempts.CODES, guesser.brand_id)
        raise RateLimited(retry_after=seconds)


def lock_key(guesser: Guesser, whose: str) -> str:
    return f"{PREFIX}:unknown_code_lock:{guesser.brand_id}:{whose}"
