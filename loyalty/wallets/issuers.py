"""Issuers: the certificate or account with which a brand makes passes. The only code that writes WalletIssuer.

Keys come encrypted from the database, or from a file below settings.WALLET_KEYS_DIR. The file takes precedence.
"""

import base64
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography import x509
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core.errors import Invalid, raises
from core.http.google_service_accounts import ServiceAccount
from events import leases
from loyalty.models.wallets import Platform, WalletIssuer, WalletPass
from loyalty.wallets import key_files
from loyalty.wallets.apple import certificates
from loyalty.wallets.apple.certificates import AppleKeys, Upload
from loyalty.wallets.errors import WalletUnavailable
from loyalty.wallets.google import issuer_keys
from loyalty.wallets.google.issuer_keys import GoogleKeys

# Staff are warned this many days before a certificate expires, with increasing severity.
WARN_DAYS = (60, 30, 7)


@dataclass(frozen=True, slots=True)
class Issuer:
    """A brand's issuer on a platform, with its keys ready for use."""

    pk: int
    brand_id: int
    design: int
    design_pushed: int
    last_error: str
    apple: AppleKeys | None = None
    google: GoogleKeys | None = None

    @property
    def for_apple(self) -> AppleKeys:
        assert self.apple  # noqa: S101 - `usable` was called for this platform
        return self.apple

    @property
    def for_google(self) -> GoogleKeys:
        assert self.google  # noqa: S101 - the same
        return self.google


@raises(WalletUnavailable)
def usable(*, brand_id: int, platform: str, at: datetime) -> Issuer:
    """The issuer with its keys. Raises WalletUnavailable if there is none, it expired, or its keys are lost."""
    try:
        row = (
            issuer_from_file(brand_id, platform)
            or WalletIssuer.objects.filter(brand_id=brand_id, platform=platform).first()
        )
        keys = _keys(row) if row else None
    except (ImproperlyConfigured, Invalid) as error:
        raise WalletUnavailable(str(error), reason="unreadable") from error
    if row is None or keys is None:
        raise WalletUnavailable
    if row.expires_at and row.expires_at <= at:
        message = _("The certificate for these passes expired on %(day)s.") % {"day": row.expires_at.date()}
        raise WalletUnavailable(message, reason="expired")
    known: dict[str, Any] = {"apple": keys} if isinstance(keys, AppleKeys) else {"google": keys}
    return Issuer(row.pk, brand_id, row.design, row.design_pushed, row.last_error, **known)


def _keys(row: WalletIssuer) -> AppleKeys | GoogleKeys | None:
    if not row.private_key:  # its file is gone
        return None
    if row.platform == Platform.GOOGLE:
        return GoogleKeys(row.identifier, ServiceAccount(row.account, row.private_key, row.key_id))
    assert row.expires_at  # noqa: S101 - Apple's certificates always expire
    return AppleKeys(
        identifier=row.identifier,
        team=row.account,
        certificates=row.certificates,
        private_key=row.private_key,
        push_key=row.push_key,
        push_key_id=row.push_key_id,
        expires_at=row.expires_at,
    )


def save(*, brand: Brand, keys: AppleKeys | GoogleKeys, at: datetime, encrypted: bool = True) -> WalletIssuer:
    """Store the brand's keys for their platform. Raises Invalid if passes exist under another identifier.

    With `encrypted=False` the keys stay in their file, and the row has only their public data.
    """
    platform = Platform.APPLE if isinstance(keys, AppleKeys) else Platform.GOOGLE
    check_identity(brand, platform, keys.identifier)
    row, _made = WalletIssuer.objects.update_or_create(
        brand=brand,
        platform=platform,
        defaults={**_columns(keys, encrypted=encrypted), "uploaded_at": at, "last_error": "", "failed_at": None},
    )
    return row


def _columns(keys: AppleKeys | GoogleKeys, *, encrypted: bool) -> dict[str, Any]:
    if isinstance(keys, GoogleKeys):
        account = keys.account
        seen = {"identifier": keys.identifier, "account": account.email, "key_id": account.key_id}
        return {**seen, "private_key": account.private_key if encrypted else ""}
    return {
        "identifier": keys.identifier,
        "account": keys.team,
        "certificates": keys.certificates,
        "expires_at": keys.expires_at,
        "push_key_id": keys.push_key_id,
        "private_key": keys.private_key if encrypted else "",
        "push_key": keys.push_key if encrypted else "",
    }


def check_identity(brand: Brand, platform: str, identifier: str) -> None:
    """Raises Invalid for another identifier: wallets know a pass by its type or class, so it would be another pass."""
    now = WalletIssuer.objects.filter(brand=brand, platform=platform).values_list("identifier", flat=True).first()
    if now in {None, identifier}:
        return
    if WalletPass.objects.filter(brand=brand, platform=platform).exists():
        field = "certificate" if platform == Platform.APPLE else "issuer_id"
        message = _("Passes have already been issued under %(now)s. Upload the keys for it; these are for %(other)s.")
        raise Invalid(message % {"now": now, "other": identifier}, details={"field": field})


def remove(*, row: WalletIssuer) -> None:
    """Stop making passes for this platform. Existing passes stay as they are."""
    row.delete()


def note_error(*, issuer: Issuer, error: str, at: datetime) -> None:
    """Store the platform's error about the issuer itself, for staff."""
    WalletIssuer.objects.filter(pk=issuer.pk).update(last_error=leases.readable(error), failed_at=at)


def note_success(*, issuer: Issuer) -> None:
    if issuer.last_error:
        WalletIssuer.objects.filter(pk=issuer.pk).update(last_error="", failed_at=None)


def change_design(*, brand_id: int) -> None:
    """Record that the shared design of the brand's passes changed."""
    WalletIssuer.objects.filter(brand_id=brand_id).update(design=F("design") + 1)


def note_design(*, issuer: Issuer) -> None:
    """Record that the platform's class has this issuer's design."""
    WalletIssuer.objects.filter(pk=issuer.pk, design_pushed__lt=issuer.design).update(design_pushed=issuer.design)


# --- Keys in files ---------------------------------------------------------------------------------------------------


def issuer_from_file(brand_id: int, platform: str) -> WalletIssuer | None:
    """The row of a brand with keys in a file. The keys stay in memory. Raises Invalid for a bad file."""
    file = key_files.file_of(brand_id, platform)
    if file is None or not file.is_file():
        return None
    brand = Brand.objects.get(pk=brand_id)
    keys = read_file(file, file.stat().st_mtime_ns)
    row = WalletIssuer.objects.defer("private_key", "push_key").filter(brand_id=brand_id, platform=platform).first()
    seen = _columns(keys, encrypted=False)
    if row is None or any(getattr(row, name) != value for name, value in seen.items() if not name.endswith("_key")):
        row = save(brand=brand, keys=keys, at=timezone.now(), encrypted=False)
    if isinstance(keys, AppleKeys):
        row.private_key, row.push_key = keys.private_key, keys.push_key
    else:
        row.private_key, row.push_key = keys.account.private_key, ""
    return row


@lru_cache(maxsize=256)
def read_file(file: Path, _changed: int) -> AppleKeys | GoogleKeys:
    """Parse a JSON file with the fields of the portal form. Certificates and keys are PEM, or Base64-encoded."""
    try:
        data = json.loads(file.read_text())
        if file.stem == Platform.GOOGLE:
            return issuer_keys.read(json.dumps(data["service_account"]).encode(), str(data["issuer_id"]))
        upload = Upload(
            certificate=_bytes(data["certificate"]),
            key=_bytes(data.get("key", "")),
            authority=_bytes(data["authority"]),
            password=str(data.get("password", "")),
            push_key=_bytes(data.get("push_key", "")),
            push_key_id=str(data.get("push_key_id", "")),
        )
        return certificates.read(upload, at=None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        name = f"{file.parent.name}/{file.name}"
        raise Invalid(_("%(file)s cannot be read: %(why)s") % {"file": name, "why": error}) from error


def _bytes(text: str) -> bytes:
    return text.encode() if "-----BEGIN" in text or not text else base64.b64decode(text, validate=True)


# --- State -----------------------------------------------------------------------------------------------------------


def days_left(row: WalletIssuer, at: datetime) -> int | None:
    """Whole days until the first certificate expires, negative afterwards. None if nothing expires."""
    return (row.expires_at - at) // timedelta(days=1) if row.expires_at else None


def first_expiring_subject(row: WalletIssuer) -> str:
    """The subject of the certificate that expires first."""
    result = x509.load_pem_x509_certificates(row.certificates.encode())
    one = min(result, key=lambda each: each.not_valid_after_utc)
    return one.subject.rfc4514_string()
