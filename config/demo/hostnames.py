"""The hostnames of the demo's brands: at bin/run's port, and for other devices at its address in the network."""

from ipaddress import IPv4Address
from urllib.parse import urlsplit

from django.conf import settings

from brands.models.tenants import Brand, BrandHostname
from brands.tenants.hostnames import hostname_of
from config.demo.data import PLANS, Plan, check_not_taken


def address_in_network(host: str) -> str:
    """`host` if it is an IPv4 address that other devices can open, otherwise "": hostnames cannot be IPv6 addresses."""
    try:
        address = IPv4Address(host)
    except ValueError:
        return ""
    return "" if address.is_loopback or address.is_unspecified else host


def hostname_at(plan: Plan, base_url: str) -> str:
    """The brand's hostname, with the port, if the platform listens at `base_url`.

    Phones in the network do not know this machine's names, so its address leads to the first brand.
    """
    parts = urlsplit(base_url)
    hostname = plan.hostnames[0]
    if plan is PLANS[0]:
        hostname = address_in_network(parts.hostname or "") or hostname
    # With HTTPS, a proxy listens in front of bin/run, at the standard port.
    return hostname if settings.HTTPS or parts.port in {None, 80} else f"{hostname}:{parts.port}"


def set_primary_hostname(hostname: str, *, plan: Plan, brand: Brand) -> None:
    """Make `hostname` primary, so that codes, mails and passes lead to it, unless staff have chosen another one."""
    current = hostname_of(brand.pk)
    name = current.partition(":")[0]
    if current == hostname or not (name == plan.hostnames[0] or address_in_network(name)):
        return
    of_other_brands = BrandHostname.objects.filter(hostname=hostname).exclude(brand=brand)
    check_not_taken(of_other_brands.exists(), f"The hostname {hostname}")
    BrandHostname.objects.filter(brand=brand, is_primary=True).update(is_primary=False)
    BrandHostname.objects.update_or_create(hostname=hostname, defaults={"brand": brand, "is_primary": True})
