"""Limits password attempts per account and network, and still lets the account's owner in.

Each pair of an account and a network has a few attempts and then waits, twice as long each time. For this, the API's
endpoints of all brands count as one, and the portal separately. All networks together have a number of attempts a
day at one account and endpoint: the portal, or the API at each brand. After that, only devices that the owner has
logged in from may try, each with its own wait, until a day has passed or the owner has set a new password. Attempts
are counted before the password is checked, so parallel ones gain nothing. A correct password undoes its own attempt.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from django.conf import settings
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from brands.models.people import User
from brands.tenants import stopped_attempts
from core.db import row_guard
from core.errors import RateLimited, Unavailable
from core.observability import metrics
from core.redis import client

PORTAL = "portal"
FREE_TRIES = 5
FIRST_WAIT_SECONDS = 15
MAX_WAIT_SECONDS = 3_600
DAY_SECONDS = 86_400
DEVICE_LIFE = timedelta(days=365)
DEVICE_SALT = "login.device"
MAX_DEVICE_TOKEN_LENGTH = 300

# Keys: the pair's counter, its wait, and the account's attempts of the day by endpoint. A known device only counts in
# its pair. Returns the milliseconds to wait (0: try), and the attempt's number of the day (0: a known device).
TRY = """
local free, first, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local daily, day, endpoint, known = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1'
local wait = redis.call('pttl', KEYS[2])
if wait > 0 then return {wait, 0} end
local number = 0
if not known then
    if tonumber(redis.call('hget', KEYS[3], endpoint) or '0') >= daily then
        return {math.max(1, redis.call('pttl', KEYS[3])), 0}
    end
    local is_new = redis.call('exists', KEYS[3]) == 0
    number = redis.call('hincrby', KEYS[3], endpoint, 1)
    if is_new then redis.call('expire', KEYS[3], day) end
end
local tries = redis.call('incr', KEYS[1])
redis.call('expire', KEYS[1], day)
if tries >= free then
    redis.call('set', KEYS[2], 1, 'ex', math.min(longest, first * 2 ^ math.min(tries - free, 30)))
end
return {0, number}
"""
# The same keys. A correct password undoes its attempt and ends the pair's wait.
FORGIVE = """
redis.call('del', KEYS[1], KEYS[2])
if ARGV[2] == '0' and redis.call('hexists', KEYS[3], ARGV[1]) == 1 then redis.call('hincrby', KEYS[3], ARGV[1], -1) end
return 0
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A counted attempt. `number`: its position in the day, at this endpoint and from unknown devices; else 0."""

    endpoint: str
    email: str
    keys: tuple[str, str, str]
    number: int

    @property
    def is_last(self) -> bool:
        """Whether the account allows no more attempts from unknown devices today."""
        return self.number == settings.LOGIN_TRIES_PER_DAY

    def succeeded(self) -> None:
        """The password was correct."""
        client.call_or_none(lambda: client.run(FORGIVE, self.keys, (self.endpoint, int(self.number == 0))))


def at_brand(brand_id: int | None) -> str:
    """The API's endpoint at a brand; 0 if no brand is known."""
    return f"api:{brand_id or 0}"


def at_email_change(brand_id: int) -> str:
    """The endpoint of the link that a brand sends to a new e-mail address. Only its holder can use up the attempts."""
    return f"email-change:{brand_id}"


def brand_at(endpoint: str) -> int | None:
    """The brand of this endpoint. None for the portal, which belongs to all brands."""
    _name, _colon, brand_id = endpoint.partition(":")
    return int(brand_id or 0) or None


def begin(*, endpoint: str, email: str, network: str, device: str = "", session: object = "") -> Attempt:
    """Count a password attempt. Call before checking the password. Raises RateLimited, and Unavailable without Redis.

    `email` is the typed address, with or without an account: both wait alike. `device` is the token of an earlier
    login on the device. `session` identifies a logged-in user who is asked again: others' attempts do not delay
    them.
    """
    email = email.strip().lower()
    device_id = f"session:{session}" if session else read_device(device, email)
    keys = _keys(endpoint, email, f"device:{device_id}" if device_id else f"network:{network}")
    waits = (FREE_TRIES, FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS)
    arguments = (*waits, settings.LOGIN_TRIES_PER_DAY, DAY_SECONDS, endpoint, int(bool(device_id)))
    answer = client.call_or_none(lambda: client.run(TRY, keys, arguments))
    if answer is None:
        raise Unavailable
    milliseconds, number = answer
    if milliseconds:
        metrics.limit_reached("login_wait")
        stopped_attempts.count(stopped_attempts.LOGINS, brand_at(endpoint))
        raise RateLimited(retry_after=ceil(milliseconds / 1000))
    return Attempt(endpoint, email, keys, number)


def forgive(*, email: str) -> None:
    """Reset the day's attempts at every endpoint after a password change. A network's wait continues."""
    client.call_or_none(lambda: client.client().delete(f"{_prefix(email)}:day"))


def make_device(user: User) -> str:
    """The token that a device stores for `begin`. It proves that the account's owner has used the device, and is valid
    until their password changes."""
    claims = {"d": secrets.token_hex(8), "u": _of(user.email), "p": _of_password(user.password)}
    return signing.dumps(claims, salt=DEVICE_SALT, compress=False)


def read_device(token: str, email: str) -> str:
    """The id of a device that the account has been used from; empty for any other token."""
    if not token or len(token) > MAX_DEVICE_TOKEN_LENGTH:
        return ""
    try:
        claims = signing.loads(token, salt=DEVICE_SALT, max_age=DEVICE_LIFE)
    except signing.BadSignature:
        return ""
    if not constant_time_compare(claims["u"], _of(email)):
        return ""
    with row_guard.disabled("a login is one for all brands"):
        password = User.objects.filter(email=email).values_list("password", flat=True).first() or ""
    return str(claims["d"]) if constant_time_compare(claims.get("p", ""), _of_password(password)) else ""


def _keys(endpoint: str, email: str, subject: str) -> tuple[str, str, str]:
    prefix = _prefix(email)
    # A network that moves from brand to brand counts as one.
    pair = f"{prefix}:{endpoint.partition(':')[0]}:{subject}"
    return f"{pair}:tries", f"{pair}:wait", f"{prefix}:day"


def _prefix(email: str) -> str:
    """Braces make a Redis cluster keep an account's keys on one node. No address is stored in Redis."""
    return f"loyalty:login:{{{_of(email)}}}"


def _of_password(stored: str) -> str:
    return salted_hmac("login.device.password", stored, algorithm="sha256").hexdigest()[:24]


def _of(email: str) -> str:
    return salted_hmac("login.account", email.strip().lower(), algorithm="sha256").hexdigest()[:24]
