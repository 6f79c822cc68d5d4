"""Self-check of wallets: what is missing, expiring or failing, by brand."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from django.conf import settings

from brands.models.tenants import Brand, BrandHostname
from loyalty.models.wallets import Platform, WalletIssuer, WalletPass
from loyalty.wallets import issuers, key_files
from loyalty.wallets.errors import WalletUnavailable

logger = logging.getLogger(__name__)

URGENT_DAYS = issuers.WARN_DAYS[-1]


class Severity(IntEnum):
    """Also the command's exit code, in the convention of monitoring tools."""

    OK = 0
    WARNING = 1
    CRITICAL = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One result about a brand's passes on a platform."""

    brand: str
    platform: str
    severity: Severity
    text: str

    def __str__(self) -> str:
        return f"{self.brand} {self.platform}: {self.severity.name}: {self.text}"


def findings(*, at: datetime, slug: str = "") -> Iterator[Finding]:
    """Findings of one brand or of all. A platform that a brand has never used is left out."""
    brands = Brand.objects.filter(slug=slug) if slug else Brand.objects.order_by("slug")
    yield from unread_files(slug)
    for brand in brands:
        offered = [platform for platform in Platform.values if is_offered(brand, platform)]
        if slug and not offered:
            yield Finding(brand.slug, "wallets", Severity.CRITICAL, "nothing is set up for Apple or Google")
        for platform in offered:
            yield from of_platform(brand, platform, at)


def report(*, at: datetime) -> int:
    """Log all warnings and errors. Returns how many."""
    result = [each for each in findings(at=at) if each.severity]
    for each in result:
        logger.log(logging.ERROR if each.severity == Severity.CRITICAL else logging.WARNING, "Wallets: %s", each)
    return len(result)


def unread_files(slug: str = "") -> Iterator[Finding]:
    """Key files that are still named by slug, and where each must be moved."""
    ids = dict(Brand.objects.values_list("slug", "pk"))
    for file, name, platform in key_files.named_by_slug():
        if slug in {"", name}:
            place = f"{ids.get(name, '<brand id>')}/{platform}.json"
            yield Finding(name, platform, Severity.CRITICAL, f"{file.name} is not read: move it to {place}")


def is_offered(brand: Brand, platform: str) -> bool:
    """Whether there are keys, or passes that need some."""
    rows = {"brand": brand, "platform": platform}
    file = key_files.file_of(brand.pk, platform)
    return bool(file and file.exists()) or any(
        model.objects.filter(**rows).exists() for model in (WalletIssuer, WalletPass)
    )


def of_platform(brand: Brand, platform: str, at: datetime) -> Iterator[Finding]:
    def finding(severity: Severity, text: str) -> Finding:
        return Finding(brand.slug, platform, severity, text)

    try:
        issuers.usable(brand_id=brand.pk, platform=platform, at=at)
    except WalletUnavailable as error:
        missing = error.details["reason"] == "not_configured"
        message = "the keys are missing, and passes are out" if missing else error.message
        yield finding(Severity.CRITICAL, message)
        return
    row = WalletIssuer.objects.defer("private_key", "push_key").get(brand=brand, platform=platform)
    trouble = [*ending(row, at), *failing(row)]
    yield from (finding(severity, message) for severity, message in trouble)
    if not trouble:
        until = f", good until {row.expires_at:%Y-%m-%d}" if row.expires_at else ""
        yield finding(Severity.OK, f"{row.identifier}{until}")


def ending(row: WalletIssuer, at: datetime) -> Iterator[tuple[Severity, str]]:
    days = issuers.days_left(row, at)
    if days is None or days > issuers.WARN_DAYS[0]:
        return
    mark = min(limit for limit in issuers.WARN_DAYS if days <= limit)
    severity = Severity.CRITICAL if days <= URGENT_DAYS else Severity.WARNING
    yield severity, f"{issuers.first_expiring_subject(row)} ends in {days} days, within {mark}: upload a new one"


def failing(row: WalletIssuer) -> Iterator[tuple[Severity, str]]:
    if row.last_error:
        yield Severity.CRITICAL, f"the platform rejects the keys: {row.last_error}"
    if not BrandHostname.objects.filter(brand=row.brand_id).exists():
        yield Severity.WARNING, "the brand has no hostname: passes cannot ask for changes, and logos are not found"
    elif not settings.HTTPS:
        yield Severity.WARNING, "the service runs without HTTPS: phones take no changes from it"
    stale = WalletPass.objects.filter(brand=row.brand_id, platform=row.platform).stale().count()
    if stale:
        yield Severity.WARNING, f"{stale} passes are stale"
