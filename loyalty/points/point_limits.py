"""Daily and monthly point limits: how much a customer may still earn, in the brand's time zone."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db.models import F, Sum

from brands.tenants.local_time import midnight
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points.ledger import ADJUSTED, OPENING, REFERRED, RETURNED, TRANSFERRED, WON

ZERO = Decimal(0)
Reason = LoyaltyTransaction.Reason
# Points with these reasons are unlimited and use up no limit.
UNLIMITED = (RETURNED, ADJUSTED, WON, OPENING, TRANSFERRED, REFERRED)


def beginning_with(*prefixes: str) -> str:
    """A regular expression for reasons with one of these prefixes, for SQL statements."""
    return f"^({'|'.join(prefix.removesuffix(':') for prefix in prefixes)}):"


# Matches entries that no action of the member caused, in SQL statements.
NO_ACTIONS = beginning_with(*UNLIMITED)


@dataclass(frozen=True, slots=True)
class RemainingLimit:
    """A limit that reduced an award: `max` and `used` in points; `resets_at` is the start of the next period."""

    period: str
    max: Decimal
    used: Decimal
    resets_at: datetime

    @property
    def left(self) -> Decimal:
        return max(ZERO, self.max - self.used)


def most_restrictive(
    *, account: int, zone: ZoneInfo, daily: Decimal | None, monthly: Decimal | None, at: datetime
) -> RemainingLimit | None:
    """The limit that leaves the fewest points, or None if the brand has none.

    Call with the account locked. Otherwise two concurrent awards could both use what is left.
    """
    return remaining(
        zone=zone, daily=daily, monthly=monthly, at=at, used=lambda _period, start: _earned(account, since=start)
    )


def remaining(
    *,
    zone: ZoneInfo,
    daily: Decimal | None,
    monthly: Decimal | None,
    at: datetime,
    used: Callable[[str, datetime], Decimal],
) -> RemainingLimit | None:
    """Like `most_restrictive`, with a function `used` of a period's name and start."""
    if daily is None and monthly is None:
        return None
    day = midnight(at.astimezone(zone).date(), zone)
    month = day.replace(day=1)
    periods = [
        ("day", daily, day, day + timedelta(days=1)),
        ("month", monthly, month, (month + timedelta(days=32)).replace(day=1)),
    ]
    result = [
        RemainingLimit(period=name, max=limit, used=used(name, start), resets_at=end)
        for name, limit, start, end in periods
        if limit is not None
    ]
    return min(result, key=lambda each: each.left)


def _earned(account: int, *, since: datetime) -> Decimal:
    """Points from actions since `since`. Unlimited reasons do not count; pending points count when they are earned."""
    lines = LoyaltyTransaction.objects.filter(
        user_point_id=account, reason__in=[Reason.EARNED, Reason.PENDING], created_at__gte=since
    )
    for beginning in UNLIMITED:
        lines = lines.exclude(reason_id__startswith=beginning)
    return lines.aggregate(total=Sum(F("points_earned") + F("points_pending")))["total"] or ZERO
