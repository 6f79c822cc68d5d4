"""Sender domains: the only code that writes SenderDomain. A brand sends from a domain once its DNS proves ownership.

The proof is a TXT record below the domain, with the brand's token. A worker checks it daily. A domain whose record is
missing for longer than GRACE is no longer used.
"""

import re
import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import dns.exception
import dns.resolver
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from core.errors import Invalid
from events import leases, messages, publishing
from events.messages import LeasedEvent, NewEvent
from loyalty.models.messages.addresses import SenderDomain

KIND = "check-sender-domain"
LABEL = "_loyalty-sender"  # below the domain, where a company can delegate it to its mail provider
PREFIX = "loyalty-sender="
MAX_PER_BRAND = 20
LOOKUP_SECONDS = 4
AGAIN_AFTER = timedelta(days=1)
GRACE = timedelta(days=3)
SHAPE = re.compile(r"(?=.{4,253}\Z)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class NoAnswerNow(Exception):
    """The DNS gave no reliable answer, neither yes nor no."""


def create(*, brand: Brand, domain: str, at: datetime) -> SenderDomain:
    """Add a domain for the brand. A worker checks its proof. Raises Invalid."""
    name = readable(domain)
    if name is None:
        raise Invalid(_("Enter a domain such as example.com."), details={"field": "domain"})
    with transaction.atomic():
        Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
        if SenderDomain.objects.filter(brand=brand).count() >= MAX_PER_BRAND:
            raise Invalid(_("This brand already has %(most)d sender domains.") % {"most": MAX_PER_BRAND})
        try:
            with transaction.atomic():
                made = SenderDomain.objects.create(brand=brand, domain=name, token=secrets.token_hex(12), created_at=at)
        except IntegrityError as error:
            raise Invalid(_("The brand already has this domain."), details={"field": "domain"}) from error
        request_checks(domains=[made], at=at)
    return made


def readable(domain: str) -> str | None:
    """The domain in DNS notation, or None if it is not valid."""
    try:
        name = domain.strip().rstrip(".").lower().encode("idna").decode()
    except UnicodeError:
        return None
    return name if SHAPE.fullmatch(name) else None


def record_name(domain: SenderDomain) -> str:
    return f"{LABEL}.{domain.domain}"


def record_value(domain: SenderDomain) -> str:
    return f"{PREFIX}{domain.token}"


def request_checks(*, domains: Sequence[SenderDomain], at: datetime) -> None:
    """Have a worker check the proofs, at most once a minute per domain. Joins the caller's transaction."""
    for domain in domains:
        message = NewEvent(
            kind=KIND,
            payload={"domain_id": domain.pk},
            arguments={"brand_id": domain.brand_id},
            event_id=uuid.uuid5(messages.EVENT_ID_NAMESPACE, f"{KIND}:{domain.pk}:{at:%Y-%m-%d %H:%M}"),
            retry_hours=1,
        )
        publishing.publish(messages=[message], brand_id=domain.brand_id, at=at, once=True)


def request_due_checks(*, at: datetime) -> int:
    """Request checks of verified domains that were not checked for a day. Returns how many."""
    waits = Coalesce(F("checked_at"), F("created_at"))
    with transaction.atomic():
        old = SenderDomain.objects.select_for_update(skip_locked=True).filter(verified_at__isnull=False)
        rows = list(old.alias(seen=waits).filter(seen__lte=at - AGAIN_AFTER).order_by("pk")[:1000])
        request_checks(domains=rows, at=at)
    return len(rows)


def remove(*, domain: SenderDomain) -> None:
    domain.delete()


def on_check(delivery: LeasedEvent) -> None:
    """The handler of `check-sender-domain`. The DNS look-up is outside any transaction."""
    domain = SenderDomain.objects.filter(pk=delivery.payload["domain_id"], brand_id=delivery.brand_id).first()
    if domain is None:
        leases.finish(delivery)
        return
    try:
        result = record_value(domain) in records(record_name(domain))
    except NoAnswerNow:
        SenderDomain.objects.filter(pk=domain.pk).update(last_error=gettext_noop("The DNS did not answer."))
        raise
    at = timezone.now()
    with transaction.atomic():
        leases.finish(delivery, outcome={"verified": result}, at=at)
        note(domain=domain, is_verified=result, at=at)


def note(*, domain: SenderDomain, is_verified: bool, at: datetime) -> None:
    """Store the result of a check."""
    row = SenderDomain.objects.filter(pk=domain.pk)
    if is_verified:
        row.update(verified_at=Coalesce(F("verified_at"), at), missing_since=None, checked_at=at, last_error="")
        return
    missing = _("This TXT record does not exist.")
    row.update(missing_since=Coalesce(F("missing_since"), at), checked_at=at, last_error=missing)
    row.filter(missing_since__lte=at - GRACE).update(verified_at=None)


def records(name: str) -> list[str]:
    """The TXT records of a name. Empty if the name does not exist. Raises NoAnswerNow."""
    try:
        answer = resolver().resolve(name, "TXT", lifetime=LOOKUP_SECONDS, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except (dns.exception.DNSException, OSError) as error:
        raise NoAnswerNow(type(error).__name__) from error
    return [b"".join(each.strings).decode("ascii", "replace") for each in answer]


def resolver() -> dns.resolver.Resolver:
    """A resolver for the servers in settings.DNS_SERVERS, else for the machine's own."""
    servers: list[tuple[str, int]] = settings.DNS_SERVERS
    made = dns.resolver.Resolver(configure=not servers)
    if servers:
        made.nameservers = [host for host, _port in servers]
        made.nameserver_ports = dict(servers)
    return made


def proven(*, brand_id: int) -> "QuerySet[SenderDomain]":
    """The domains from which the brand may send."""
    gone = Q(missing_since__lte=timezone.now() - GRACE)
    return SenderDomain.objects.filter(brand_id=brand_id, verified_at__isnull=False).exclude(gone)


def may_send_from(*, brand_id: int, address: str) -> bool:
    """Whether the brand has proven exactly the domain of an e-mail address."""
    domain = readable(address.rpartition("@")[2]) if address else None
    return domain is not None and proven(brand_id=brand_id).filter(domain=domain).exists()
