"""Where the demo's brands are reached: at the port, and in a network at the address, where bin/run listens."""

from ipaddress import IPv4Address
from urllib.parse import urlsplit

from django.conf import settings

from brands.models.tenants import Brand, BrandHostname
from brands.tenants.hostnames import hostname_of
from config.demo.data import PLANS, Plan, check_not_taken


def address_in_network(host: str) -> str:
    """`host` where it is an IPv4 address that other devices can open, else nothing: no hostname is IPv6."""
    try:
        address = IPv4Address(host)
    except ValueError:
        return ""
    return "" if address.is_loopback or address.is_unspecified else host


def hostname_at(plan: Plan, base_url: str) -> str:
    """Under which the brand of `plan` is reached where the platform listens at `base_url`.

    Phones in the network know no name of this machine, and one address leads to one brand: the first.
    """
    parts = urlsplit(base_url)
    hostname = plan.hostnames[0]
    if plan is PLANS[0]:
        hostname = address_in_network(parts.hostname or "") or hostname
    # With HTTPS a proxy stands before bin/run, at the usual port.
    return hostname if settings.HTTPS or parts.port in {None, 80} else f"{hostname}:{parts.port}"


def set_primary_hostname(hostname: str, *, plan: Plan, brand: Brand) -> None:
    """Have codes, mails and passes lead to `hostname`, unless somebody has chosen one of their own for the brand."""
    current = hostname_of(brand.pk)
    name = current.partition(":")[0]
    if current == hostname or not (name == plan.hostnames[0] or address_in_network(name)):
        return
    of_other_brands = BrandHostname.objects.filter(hostname=hostname).exclude(brand=brand)
    check_not_taken(of_other_brands.exists(), f"The hostname {hostname}")
    BrandHostname.objects.filter(brand=brand, is_primary=True).update(is_primary=False)
    BrandHostname.objects.update_or_create(hostname=hostname, defaults={"brand": brand, "is_primary": True})
