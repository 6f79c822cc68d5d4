"""API keys: the only code that makes, rotates, revokes and finds them. A key is shown once; its hash is kept."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Least

from brands import sql
from brands.models import ApiKey, Brand
from brands.refusals import ApiKeyInvalid, Invalid

USABLE_AT_ONCE = 2  # the old key and its successor, so that callers can change over
VISIBLE_CHARACTERS = 12
SHAPE = re.compile(r"(?:hub|app)_[A-Za-z0-9_-]{43}")  # 256 random bits

FIND = """
SELECT id, kind, brand_id, prefix, last_used_at IS NULL OR last_used_at < %(at)s::timestamptz - interval '1 minute'
FROM brands_apikey
WHERE digest = %(digest)s::bytea
  AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(at)s::timestamptz)
"""
# Once a minute, by whichever request comes first: the others skip the locked row instead of queueing for it.
NOTE_USE = """
UPDATE brands_apikey SET last_used_at = %(at)s::timestamptz
WHERE id = (
    SELECT id FROM brands_apikey
    WHERE id = %(key_id)s::bigint
      AND (last_used_at IS NULL OR last_used_at < %(at)s::timestamptz - interval '1 minute')
    FOR UPDATE SKIP LOCKED
)
RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a usable key."""

    key_id: int
    kind: str
    brand_id: int
    prefix: str

    @property
    def is_hub(self) -> bool:
        """Whether the key is secret, so that its holder is believed."""
        return self.kind == ApiKey.Kind.HUB


def create(
    *, brand: Brand, kind: str, name: str, at: datetime, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A new key and its text, which nobody can learn again.

    Raises Invalid where the brand has two usable keys of this kind already.
    """
    text = f"{ApiKey.Kind(kind).value}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        # Keys of a brand are made one after the other, or two calls would both count one and make a third.
        Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
        if usable(brand=brand, kind=kind, at=at) >= USABLE_AT_ONCE:
            message = f"This brand has {USABLE_AT_ONCE} usable {kind} keys. Revoke one before you make another."
            raise Invalid(message)
        key = ApiKey.objects.create(
            brand=brand,
            kind=kind,
            name=name,
            prefix=text[:VISIBLE_CHARACTERS],
            digest=_digest(text),
            created_at=at,
            expires_at=expires_at,
        )
    return key, text


def rotate(*, key: ApiKey, at: datetime, grace: timedelta) -> tuple[ApiKey, str]:
    """A successor of `key`, which itself is usable for `grace` longer at most.

    Raises Invalid where `key` has a usable successor already.
    """
    end = at + grace
    with transaction.atomic():
        ApiKey.objects.filter(pk=key.pk).update(expires_at=Least("expires_at", end))  # NULL counts as later
        key.refresh_from_db(fields=["expires_at"])
        return create(brand=key.brand, kind=key.kind, name=key.name, at=at)


def revoke(*, key: ApiKey, at: datetime) -> None:
    """End `key` at once; the second call changes nothing."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=at)
    key.refresh_from_db(fields=["revoked_at"])


def usable(*, brand: Brand, kind: str, at: datetime) -> int:
    """How many keys of this kind would be accepted."""
    alive = Q(expires_at=None) | Q(expires_at__gt=at)
    return ApiKey.objects.filter(alive, brand=brand, kind=kind, revoked_at=None).count()


def find(raw: str, *, at: datetime) -> Caller:
    """Whose key `raw` is. Raises ApiKeyInvalid for an unknown, revoked or expired one."""
    if not SHAPE.fullmatch(raw):
        raise ApiKeyInvalid
    found = sql.row(FIND, {"digest": _digest(raw), "at": at})
    if found is None:
        raise ApiKeyInvalid
    key_id, kind, brand_id, prefix, use_is_unnoted = found
    if use_is_unnoted:
        sql.row(NOTE_USE, {"key_id": key_id, "at": at})
    return Caller(key_id=key_id, kind=kind, brand_id=brand_id, prefix=prefix)


def _digest(text: str) -> bytes:
    """256 random bits need no slow hash: nobody can guess them, however fast each guess is."""
    return hashlib.sha256(text.encode()).digest()
