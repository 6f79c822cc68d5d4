"""The dashboard's filters as conditions on codes and scans, used by the lists behind the figures.

docs/dashboard.md explains them. The dashboard's statements implement the same over rollups; tests compare both for
every combination. `brands` are those of the rows: days and expiry depend on each brand's time zone.
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
    """A code's status as a filter of the dashboard."""

    SCANNED = "scanned", _("Scanned")
    UNSCANNED = "unscanned", _("Unscanned")
    EXPIRED = "expired", _("Expired")
    DEACTIVATED = "deactivated", _("Deactivated")


@dataclass(frozen=True, slots=True)
class Filters:
    """docs/dashboard.md explains each filter. Days are the brand's own, both inclusive. Pages of batches and recalls
    set batch ids.

    `location` is the typed text, `places` the places it matches (authcodes.places.search); without any, one place.
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
        """The places; empty for everywhere."""
        return list(self.places) or ([self.location] if self.location else [])

    @property
    def batches(self) -> list[int]:
        """The ids of the batches; empty for all."""
        return list(self.batch_ids) or ([self.batch_id] if self.batch_id is not None else [])

    @property
    def by_scan(self) -> bool:
        """Whether the filters depend on when or where codes were scanned."""
        return bool(self.first_day or self.last_day or self.location)


EVER = Filters()


def codes_with(status: str, *, brands: Iterable[Brand], to: str = "") -> Q:
    """Codes with this status now. `to`: the path to the code from other rows, such as "auth_code__"."""
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
    """Codes first accepted on one of these days, at one of these places."""
    there = _one_of("first_scan_location", places)
    return Q(scan_count__gt=0) & local_time.on_days("first_scan_at", first_day, last_day, brands=brands) & there


def scans_with(status: str, *, brands: Iterable[Brand]) -> Q:
    """Scans of codes with this status now, whatever it was at the time of the scan."""
    result = codes_with(status, brands=brands, to="" if status == Status.EXPIRED else "auth_code__")
    # An accepted scan has counted for its code, so this condition saves looking up the code.
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
