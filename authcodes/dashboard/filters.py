"""The dashboard's filters, and what each means for codes and for scans: lists that figures lead to ask here.

docs/dashboard.md has it in words. The dashboard's statements say the same over rollups; tests compare the two for every
combination. `brands` are those of the rows: days and expiry are cut in each one's own zone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from brands.tenants import local_time


class Status(models.TextChoices):
    """A code's state as the dashboard filters by it."""

    SCANNED = "scanned", _("Scanned")
    UNSCANNED = "unscanned", _("Unscanned")
    EXPIRED = "expired", _("Expired")
    DEACTIVATED = "deactivated", _("Deactivated")


@dataclass(frozen=True, slots=True)
class Filters:
    """What docs/dashboard.md says of each. Days are the brand's own, both included. Batches: on
    their own pages and their recall's.

    `location` is what somebody typed, `places` what it means (authcodes.places.search); without these, just that place.
    """

    status: Status | None = None
    first_day: date | None = None
    last_day: date | None = None
    location: str = ""
    campaign_id: int | None = None
    batch_id: int | None = None
    places: tuple[str, ...] = ()
    batch_ids: tuple[int, ...] = ()

    @property
    def where(self) -> list[str]:
        """The places; none: everywhere."""
        return list(self.places) or ([self.location] if self.location else [])

    @property
    def batches(self) -> list[int]:
        """Their ids; none: all batches."""
        return list(self.batch_ids) or ([self.batch_id] if self.batch_id is not None else [])

    @property
    def by_scan(self) -> bool:
        """Whether they ask when or where codes were scanned."""
        return bool(self.first_day or self.last_day or self.location)


EVER = Filters()


def codes_with(status: str, *, brands: Iterable[Brand], to: str = "") -> Q:
    """Codes that are so now. `to` leads there from other rows: "auth_code__"."""
    if status == Status.EXPIRED:
        now = timezone.now()
        past = f"{to}batch__expiration_date__lt"
        return _in_each_zone(brands, lambda zone: Q(**{past: now.astimezone(zone).date()}))
    lookup, value = {
        Status.SCANNED: ("scan_count__gt", 0),
        Status.UNSCANNED: ("scan_count", 0),
        Status.DEACTIVATED: ("deactivated_at__isnull", False),
    }[Status(status)]
    return Q(**{f"{to}{lookup}": value})


def batches_expired(*, brands: Iterable[Brand]) -> Q:
    """Batches whose last day has ended in their brand's zone."""
    now = timezone.now()
    return Q(expiration_date__isnull=False) & _in_each_zone(
        brands, lambda zone: Q(expiration_date__lt=now.astimezone(zone).date())
    )


def codes_first_scanned(
    *, brands: Iterable[Brand], first_day: date | None = None, last_day: date | None = None, places: Sequence[str] = ()
) -> Q:
    """Codes whose first accepted scan was on one of these days, at one of these places."""
    there = _one_of("first_scan_location", places)
    return Q(scan_count__gt=0) & local_time.on_days("first_scan_at", first_day, last_day, brands=brands) & there


def scans_with(status: str, *, brands: Iterable[Brand]) -> Q:
    """Scans of codes that are so now, whatever they were at the time."""
    result = codes_with(status, brands=brands, to="" if status == Status.EXPIRED else "auth_code__")
    # An accepted scan has counted for its code. Said here, its code need not be looked up.
    return result & ~Q(outcome="success") if status == Status.UNSCANNED else result


def scans_made(
    *, brands: Iterable[Brand], first_day: date | None = None, last_day: date | None = None, places: Sequence[str] = ()
) -> Q:
    """Scans on one of these days, at one of these places."""
    there = _one_of("location", places)
    return local_time.on_days("scanned_at", first_day, last_day, brands=brands) & there


def _one_of(name: str, places: Sequence[str]) -> Q:
    return Q(**{f"{name}__in": list(places)}) if places else Q()


def _in_each_zone(brands: Iterable[Brand], condition: Callable[[ZoneInfo], Q]) -> Q:
    by_zone: dict[ZoneInfo, list[int]] = {}
    for brand in brands:
        by_zone.setdefault(brand.zone, []).append(brand.pk)
    if len(by_zone) == 1:
        return condition(*by_zone)
    in_zones = Q(pk__in=[])
    for zone, ids in by_zone.items():
        in_zones |= Q(brand__in=ids) & condition(zone)
    return in_zones
