"""Brands and their hostnames."""

from django.conf import settings
from django.http import HttpRequest

from brands.models.tenants import Brand, BrandHostname


def brand_of(request: HttpRequest) -> Brand | None:
    """The brand of the Host header; None for the portal's own host and for unknown hosts."""
    return brand_for_hostname(request.get_host())


def brand_for_hostname(netloc: str) -> Brand | None:
    """The brand with this hostname, stored with its port or, failing that, without."""
    called = netloc.lower()
    names = [called, called.rpartition(":")[0] or called]
    result = (
        BrandHostname.objects.select_related("brand__logo")
        .defer("brand__logo__content", "brand__logo__small")
        .filter(hostname__in=names)
    )
    first = next(iter(sorted(result, key=lambda it: it.hostname != called)), None)
    return first.brand if first else None


def hostname_of(brand_id: int) -> str:
    """The hostname for codes, passes and mails: the primary one, else the first; empty if the brand has none."""
    rows = BrandHostname.objects.filter(brand_id=brand_id).order_by("-is_primary", "hostname")
    return rows.values_list("hostname", flat=True).first() or ""


def site_at(hostname: str) -> str:
    """The base of a brand's site addresses: the scheme from settings.HTTPS, and `hostname` with its port."""
    return f"{'https' if settings.HTTPS else 'http'}://{hostname}"


def scan_address(hostname: str, code: str) -> str:
    """The address that a code's symbol contains: the code's scan page."""
    return f"{site_at(hostname)}/s/{code}"
