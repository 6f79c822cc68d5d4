"""Quotas: how much of the installation each brand may use, how much it uses, and the error above the limit.

Rows are counted in their tables, one use of a brand at a time. Frequent things are counted in Redis, exactly, per
day in UTC; while Redis is away nothing is rejected.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from time import monotonic
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from core.db.statements import query
from core.errors import QuotaReached, RateLimited
from core.numbers import grouped
from core.redis import client

Resource = BrandQuota.Resource
Used = dict[tuple[int, str], int]  # by brand and resource; missing means 0
Counting = Callable[[Sequence[int], datetime, Collection[str]], Used]

NEAR_PERCENT = 80
IN_TABLES = (Resource.CODES, Resource.UPLOADS, Resource.STORAGE, Resource.JOBS, Resource.BROADCASTS)
CACHE_SECONDS = 172_800  # a day's counter must outlive its day
REMEMBERED_SECONDS = 30  # how long a limit is cached that is checked for each event
MAX_REMEMBERED = 10_000
# Counts if the limit (0: none) leaves room; returns whether it did.
TAKE = """
local used, more, limit = tonumber(redis.call('get', KEYS[1]) or '0'), tonumber(ARGV[1]), tonumber(ARGV[2])
if limit > 0 and used + more > limit then return 0 end
redis.call('incrby', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[3])
return 1
"""

# (brand, resource) -> limit, and until when it is cached.
_remembered: dict[tuple[int, str], tuple[int, float]] = {}


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a resource; 0: none. `turn` is None if no lock was taken."""

    resource: str
    most: int
    turn: str | None


TAKE_TURN = query("brands/tenants/sql/take_turn_with_limits.sql", returns=Limit)


@dataclass(frozen=True, slots=True)
class Usage:
    """A brand's usage of one resource. `limit` 0: unlimited; `used` None: unknown, Redis is away."""

    brand: Brand
    resource: Resource
    limit: int
    used: int | None

    @property
    def name(self) -> str:
        return str(self.resource.label)

    @property
    def percent(self) -> int | None:
        """Rounded down, so that 100 means fully used."""
        return self.used * 100 // self.limit if self.limit and self.used is not None else None

    @property
    def width(self) -> int:
        return min(100, self.percent or 0)

    @property
    def is_near(self) -> bool:
        return (self.percent or 0) >= NEAR_PERCENT

    @property
    def is_reached(self) -> bool:
        return (self.percent or 0) >= 100

    @property
    def fill(self) -> str:
        """The bar's colour: red, amber, or the text's."""
        if self.is_reached:
            return "#dc2626"
        return "#f59e0b" if self.is_near else "currentColor"

    @property
    def used_text(self) -> str:
        return _("currently unknown") if self.used is None else grouped(self.used)

    @property
    def limit_text(self) -> str:
        return grouped(self.limit) if self.limit else _("unlimited")


@dataclass(frozen=True, slots=True)
class BrandUsage:
    brand: Brand
    usages: list[Usage]


def require(brand_id: int, resource: Resource, *, more: int = 1, field: str = "") -> None:
    """Raises QuotaReached if `more` would exceed the limit. In a transaction, it blocks the brand's next use."""
    require_all(brand_id, {resource: more}, field=field)


def require_all(brand_id: int, amounts: Mapping[Resource, int], *, field: str = "") -> None:
    """The same for several resources, in two statements. Reports the first that has too little left."""
    limits_of = limited(brand_id, amounts)
    if not limits_of:
        return
    used = counted([brand_id], limits_of)
    for resource, limit in limits_of.items():
        now, more = used.get((brand_id, resource), 0), amounts[resource]
        if more > 0 and now + more > limit:
            raise QuotaReached(rejection_text(resource, limit, now), details={"field": field} if field else None)


def limited(brand_id: int, resources: Iterable[Resource]) -> dict[Resource, int]:
    """The limits of those of `resources` that have one, in their order."""
    names = [str(each) for each in resources]
    limits = TAKE_TURN.all(brand_id=brand_id, resources=names, defaults=[default_of(each) for each in names])
    most = {limit.resource: limit.most for limit in limits}
    return {Resource(name): most[name] for name in names if most[name]}


def left(brand_id: int, resource: Resource) -> int | None:
    """How much of a resource the brand may still use; None without a limit. Locks as `require` does."""
    limit = limited(brand_id, [resource]).get(resource)
    if limit is None:
        return None
    return max(0, limit - counted([brand_id], [resource]).get((brand_id, resource), 0))


def rejection_text(resource: Resource, limit: int, used: int) -> str:
    messages = {
        Resource.CODES: _("Your brand can have %(limit)s codes and has %(used)s."),
        Resource.UPLOADS: _("Your brand can upload %(limit)s files a day and has uploaded %(used)s today."),
        Resource.STORAGE: _("Your brand can store %(limit)s bytes and uses %(used)s."),
        Resource.JOBS: _("Your brand can start %(limit)s jobs a day and has started %(used)s today."),
        Resource.BROADCASTS: _(
            "Your brand can send broadcasts to %(limit)s members a day and has sent to %(used)s today."
        ),
    }
    message = messages[resource] % {"limit": grouped(limit), "used": grouped(used)}
    return f"{message} {_('Ask the operator for more.')}"


def take(brand_id: int, resource: Resource) -> bool:
    """Count one use for today in Redis. Returns False, and counts nothing, if none is left today."""
    limit = remembered_limit(brand_id, resource)
    key = day_key(brand_id, resource, timezone.now())
    return client.call_or_none(lambda: client.run(TAKE, (key,), (1, limit, CACHE_SECONDS))) != 0


def count_event(brand_id: int) -> None:
    """Count an event that the brand sends. Raises RateLimited until tomorrow above its quota."""
    if take(brand_id, Resource.EVENTS):
        return
    message = _("Your brand has reached today's event quota. Ask the operator for more, or try again tomorrow (UTC).")
    raise RateLimited(message, retry_after=seconds_until_tomorrow(timezone.now()))


def note(brand_id: int, resource: Resource) -> None:
    """Count one use for today that cannot be rejected, whatever the quota."""
    key = day_key(brand_id, resource, timezone.now())
    client.call_or_none(lambda: client.run(TAKE, (key,), (1, 0, CACHE_SECONDS)))


def until_tomorrow(at: datetime) -> timedelta:
    """Until the next day in UTC, when daily quotas begin again."""
    return begin_of_day(at) + timedelta(days=1) - at


def seconds_until_tomorrow(at: datetime) -> int:
    return ceil(until_tomorrow(at).total_seconds())


def begin_of_day(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def day_key(brand_id: int, resource: str, at: datetime) -> str:
    return f"quota:{resource}:{brand_id}:{at.astimezone(UTC):%Y%m%d}"


def limit_of(brand_id: int, resource: Resource) -> int:
    """The limit; 0: unlimited."""
    own = BrandQuota.objects.filter(brand=brand_id, resource=resource).values_list("limit", flat=True).first()
    return default_of(resource) if own is None else own


def default_of(resource: str) -> int:
    default: int = settings.QUOTAS[resource]
    return default


def remembered_limit(brand_id: int, resource: Resource) -> int:
    """The same, cached for some seconds: for frequent calls."""
    now = monotonic()
    limit, until = _remembered.get((brand_id, resource), (0, 0.0))
    if now < until:
        return limit
    if len(_remembered) >= MAX_REMEMBERED:
        _remembered.clear()
    limit = limit_of(brand_id, resource)
    _remembered[brand_id, resource] = limit, now + REMEMBERED_SECONDS
    return limit


def reset_limits() -> None:
    """Clears this process's cache; others read again within REMEMBERED_SECONDS."""
    _remembered.clear()


def usage_of(brands: Sequence[Brand]) -> list[BrandUsage]:
    """Each brand's usage of each resource, in two statements and one call to Redis."""
    if not brands:
        return []
    keys = [brand.pk for brand in brands]
    rows = BrandQuota.objects.filter(brand__in=keys, limit__isnull=False)
    own = {(row.brand_id, row.resource): row.limit or 0 for row in rows}
    in_tables, in_redis = counted(keys, IN_TABLES), counters(keys)

    def usage(brand: Brand, resource: Resource) -> Usage:
        which = brand.pk, resource.value
        elsewhere = in_redis[which] if in_redis and resource not in IN_TABLES else None
        used = in_tables.get(which, 0) if resource in IN_TABLES else elsewhere
        return Usage(brand, resource, own.get(which, default_of(resource)), used)

    return [BrandUsage(brand, [usage(brand, resource) for resource in Resource]) for brand in brands]


def counters(brand_ids: Sequence[int]) -> Used | None:
    """Today's counters; None while Redis is away."""
    now = timezone.now()
    which = [(brand_id, str(resource)) for brand_id in brand_ids for resource in Resource if resource not in IN_TABLES]
    keys = [day_key(brand_id, resource, now) for brand_id, resource in which]
    result: Any = client.call_or_none(lambda: client.client().mget(keys))
    return None if result is None else {one: int(each or 0) for one, each in zip(which, result, strict=True)}


def counted(brand_ids: Sequence[int], resources: Collection[str]) -> Used:
    return counting(settings.QUOTA_USAGE)(brand_ids, begin_of_day(timezone.now()), resources)


@cache
def counting(path: str) -> Counting:
    function: Counting = import_string(path)
    return function
