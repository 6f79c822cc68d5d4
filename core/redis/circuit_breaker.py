"""Circuit breakers: a failing server is not called until a cooldown has passed. All workers share the state in Redis.

While Redis is away, all calls are allowed.
"""

from dataclasses import dataclass
from typing import Any

from core.redis.client import call_or_none, command, run

# KEYS: consecutive failures, the cooldown. ARGV: failures that open it, milliseconds for a probe. Returns the time to
# wait.
WAIT = """
if tonumber(redis.call('get', KEYS[1]) or '0') < tonumber(ARGV[1]) then return 0 end
local rest = redis.call('pttl', KEYS[2])
if rest > 0 then return rest end
redis.call('set', KEYS[2], 1, 'PX', ARGV[2])
return 0
"""
# ARGV: failures that open it, then milliseconds: first cooldown, longest cooldown, and until failures are forgotten.
FAILED = """
local failures = redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[4])
local open_at = tonumber(ARGV[1])
if failures < open_at then return 0 end
local rest = math.min(tonumber(ARGV[2]) * 2 ^ math.min(failures - open_at, 20), tonumber(ARGV[3]))
redis.call('set', KEYS[2], 1, 'PX', math.floor(rest))
return math.floor(rest)
"""
RESET_AFTER_SECONDS = 3_600
SLOW_SECONDS, SLOW_LASTS_SECONDS = 1.0, 60


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Opens after `failures` in a row, for `cooldown_seconds`, doubled by each further failure. Then one call passes as
    a probe for up to `probe_seconds`; its result decides for all."""

    name: str
    failures: int = 5
    cooldown_seconds: float = 10
    max_cooldown_seconds: float = 300
    probe_seconds: float = 15

    def wait(self) -> float:
        """Seconds to leave the server alone. After 0, call it and report the result with `succeeded` or `failed`."""
        arguments = (self.failures, round(self.probe_seconds * 1000))
        milliseconds: int = call_or_none(lambda: run(WAIT, self._keys, arguments)) or 0
        return milliseconds / 1000

    def failed(self) -> float:
        """Record a failure. Returns the seconds of the cooldown that it starts, or 0."""
        longest = round(self.max_cooldown_seconds * 1000)
        lifetime = longest + RESET_AFTER_SECONDS * 1000
        arguments = (self.failures, round(self.cooldown_seconds * 1000), longest, lifetime)
        milliseconds: int = call_or_none(lambda: run(FAILED, self._keys, arguments)) or 0
        return milliseconds / 1000

    def succeeded(self) -> None:
        call_or_none(lambda: command("DEL", *self._keys))

    def failures_now(self) -> int:
        """The number of consecutive failures."""
        result: Any = call_or_none(lambda: command("GET", self._keys[0]))
        return int(result or 0)

    def is_open(self) -> bool:
        return self.failures_now() >= self.failures

    def record_duration(self, seconds: float) -> None:
        """Remember a slow call for a minute; others are ignored."""
        if seconds > SLOW_SECONDS:
            call_or_none(lambda: command("SET", self._slow, 1, "EX", SLOW_LASTS_SECONDS))

    def is_slow(self) -> bool:
        """Whether a call was slow within the last minute: such servers may only occupy a part of the senders."""
        return bool(call_or_none(lambda: command("EXISTS", self._slow)))

    @property
    def _slow(self) -> str:
        return f"loyalty:breaker:{self.name}:slow"

    @property
    def _keys(self) -> tuple[str, str]:
        return f"loyalty:breaker:{self.name}:failures", f"loyalty:breaker:{self.name}:rest"
