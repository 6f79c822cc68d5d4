"""Whose page it is: the brand that the Host header names."""

from django.http import HttpRequest

from brands.models import Brand, BrandHostname


def brand_of(request: HttpRequest) -> Brand | None:
    """The brand with this hostname, stored with its port or without; None for the portal's own and for others."""
    called = request.get_host().lower()
    names = [called, called.rpartition(":")[0] or called]
    found = (
        BrandHostname.objects.select_related("brand__logo")
        .defer("brand__logo__content", "brand__logo__small")
        .filter(hostname__in=names)
        .order_by("-hostname")
    )
    first = next(iter(sorted(found, key=lambda it: it.hostname != called)), None)
    return first.brand if first else None
