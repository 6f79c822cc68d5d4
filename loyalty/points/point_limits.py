"""Daily and monthly point limits: how much a customer may still earn, counted in the brand's time zone."""

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
# What such reasons bring is limited by nothing, and uses no limit up.
UNLIMITED = (RETURNED, ADJUSTED, WON, OPENING, TRANSFERRED, REFERRED)


def beginning_with(*prefixes: str) -> str:
    """A pattern of the reasons that begin with one of these, as a part of statements."""
    return f"^({'|'.join(prefix.removesuffix(':') for prefix in prefixes)}):"


# Of entries that came by no action of the member's, in statements.
NO_ACTIONS = beginning_with(*UNLIMITED)


@dataclass(frozen=True, slots=True)
class RemainingLimit:
    """A limit that cut an award: `max` and `used` in points, `resets_at` the first moment of the next period."""

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
    """The limit that leaves least, or None where the brand sets none.

    Call with the account locked, or two awards at once could both use what is left.
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
    """The same, of points that `used` tells by the name and the start of a period."""
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
    """What is not limited uses no limit up: only what actions earned counts, pending points when they were earned."""
    lines = LoyaltyTransaction.objects.filter(
        user_point_id=account, reason__in=[Reason.EARNED, Reason.PENDING], created_at__gte=since
    )
    for beginning in UNLIMITED:
        lines = lines.exclude(reason_id__startswith=beginning)
    return lines.aggregate(total=Sum(F("points_earned") + F("points_pending")))["total"] or ZERO
