"""API keys: the only code that creates, rotates, revokes and finds them. A key is shown once and stored as a hash."""

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_network

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Least
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_variables

from brands.errors import ApiKeyInvalid
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from brands.tenants import request_brands
from core.db.statements import command, query
from core.errors import Forbidden, Invalid, raises

USABLE_AT_ONCE = 2  # the old key and its successor, so that callers can switch over
VISIBLE_CHARACTERS = 12
SHAPE = re.compile(r"(?:hub|app)_[A-Za-z0-9_-]{43}")  # 256 random bits


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A usable key. `is_use_unnoted`: its last use was recorded more than a minute ago."""

    key_id: int
    kind: str
    brand_id: int
    prefix: str
    scopes: list[str]
    networks: list[str]
    is_use_unnoted: bool


FIND_KEY = query("brands/identity/sql/find_api_key.sql", returns=KeyRow)
NOTE_USE = command("brands/identity/sql/note_key_use.sql")


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a usable key."""

    key_id: int
    kind: str
    brand_id: int
    prefix: str
    scopes: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()

    @property
    def is_hub(self) -> bool:
        """Whether the key is secret, so that its holder is trusted."""
        return self.kind == ApiKey.Kind.HUB

    @raises(Forbidden)
    def require(self, scope: str) -> None:
        """Raises Forbidden for an app key, and for a hub key without the scope."""
        if not self.is_hub:
            raise Forbidden(_("This needs a hub key. An app key is published with the app."))
        if scope not in self.scopes:
            message = _("This key lacks the scope '%(scope)s'.") % {"scope": scope}
            raise Forbidden(message, details={"scope": scope})

    def may_call_from(self, address: IPv4Address | IPv6Address | None) -> bool:
        """Whether the key's allowed networks contain the address. A key without networks is allowed everywhere."""
        return not self.networks or any(_holds(network, address) for network in self.networks)


def _holds(network: str, address: IPv4Address | IPv6Address | None) -> bool:
    return address is not None and address in ip_network(network)


@sensitive_variables("text")
def create(
    *,
    brand: Brand,
    kind: str,
    name: str,
    at: datetime,
    expires_at: datetime | None = None,
    scopes: Iterable[str] = (),
    networks: Iterable[str] = (),
) -> tuple[ApiKey, str]:
    """Create a key. Returns it and its text, which cannot be recovered later. Only hub keys have `scopes`.

    Raises Invalid if the brand already has two usable keys of this kind.
    """
    text = f"{ApiKey.Kind(kind).value}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        # The lock serialises creation: two concurrent calls would both count one key and create a third.
        Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
        if usable(brand=brand, kind=kind, at=at) >= USABLE_AT_ONCE:
            message = _("This brand has %(most)d usable %(kind)s keys. Revoke one before you create another.")
            raise Invalid(message % {"most": USABLE_AT_ONCE, "kind": kind})
        key = ApiKey.objects.create(
            brand=brand,
            kind=kind,
            name=name,
            prefix=text[:VISIBLE_CHARACTERS],
            digest=digest_of(text),
            created_at=at,
            expires_at=expires_at,
            scopes=[scope for scope in ApiKey.Scope.values if scope in set(scopes)] if kind == ApiKey.Kind.HUB else [],
            networks=list(networks),
        )
    return key, text


@sensitive_variables()
def rotate(*, key: ApiKey, at: datetime, grace: timedelta) -> tuple[ApiKey, str]:
    """Create a successor of `key`, which stays usable for at most `grace`.

    Raises Invalid if `key` and another key of its kind would both stay usable.
    """
    end = at + grace
    with transaction.atomic():
        ApiKey.objects.filter(pk=key.pk).update(expires_at=Least("expires_at", end))  # NULL counts as later
        key.refresh_from_db(fields=["expires_at"])
        return create(brand=key.brand, kind=key.kind, name=key.name, at=at, scopes=key.scopes, networks=key.networks)


def revoke(*, key: ApiKey, at: datetime) -> None:
    """End `key` at once. A second call changes nothing."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=at)
    key.refresh_from_db(fields=["revoked_at"])


def usable(*, brand: Brand, kind: str, at: datetime) -> int:
    """How many keys of this kind are usable, not counting the scan page's own key."""
    return _alive(brand, at).filter(kind=kind, of_scan_page=False).count()


def of_scan_page(*, brand: Brand, at: datetime) -> str:
    """The text of the brand's app key for its scan page, created on first use.

    It is published with every page. It is derived from SECRET_KEY and the row's id, so every host can compute it and
    none stores it. Another SECRET_KEY, or a revocation, results in another key.
    """
    return _text_of_scan_page(brand, at) or _made_for_scan_page(brand, at)


def _text_of_scan_page(brand: Brand, at: datetime) -> str:
    for key in _alive(brand, at).filter(kind=ApiKey.Kind.APP, of_scan_page=True):
        text = _derived(key)
        if bytes(key.digest) == digest_of(text):
            return text
    return ""


def _made_for_scan_page(brand: Brand, at: datetime) -> str:
    with transaction.atomic():
        Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
        if text := _text_of_scan_page(brand, at):  # another request was faster
            return text
        _alive(brand, at).filter(of_scan_page=True).update(revoked_at=at)
        key = ApiKey.objects.create(
            brand=brand,
            kind=ApiKey.Kind.APP,
            name=gettext_noop("Scan page"),
            digest=secrets.token_bytes(32),
            created_at=at,
            of_scan_page=True,
        )
        text = _derived(key)
        key.prefix, key.digest = text[:VISIBLE_CHARACTERS], digest_of(text)
        key.save(update_fields=["prefix", "digest"])
    return text


def _derived(key: ApiKey) -> str:
    made = salted_hmac("brands.identity.api_keys.of_scan_page", str(key.pk), algorithm="sha256").digest()
    return f"{ApiKey.Kind.APP.value}_{base64.urlsafe_b64encode(made).decode().rstrip('=')}"


def _alive(brand: Brand, at: datetime) -> "QuerySet[ApiKey]":
    unexpired = Q(expires_at=None) | Q(expires_at__gt=at)
    return ApiKey.objects.filter(unexpired, brand=brand, revoked_at=None)


def find(raw: str, *, at: datetime) -> Caller:
    """Find the key with the text `raw`. Raises ApiKeyInvalid if it is unknown, revoked or expired."""
    if not SHAPE.fullmatch(raw):
        raise ApiKeyInvalid
    row = FIND_KEY.first(digest=digest_of(raw), at=at)
    if row is None:
        raise ApiKeyInvalid
    if row.is_use_unnoted:
        NOTE_USE.run(key_id=row.key_id, at=at)
    request_brands.note(request_brands.KEY, (row.brand_id,))
    return Caller(
        key_id=row.key_id,
        kind=row.kind,
        brand_id=row.brand_id,
        prefix=row.prefix,
        scopes=frozenset(row.scopes),
        networks=tuple(row.networks),
    )


def digest_of(text: str) -> bytes:
    """256 random bits need no slow hash: they cannot be guessed, however fast each guess is."""
    return hashlib.sha256(text.encode()).digest()
