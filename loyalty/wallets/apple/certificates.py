"""Apple's certificates and keys as brands upload them: parsed, checked against each other, and normalised."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from django.utils.translation import gettext as _

from core import moments
from core.errors import Invalid
from core.uploads import keys
from core.uploads.keys import KeyFile, ReadFile

KEY_ID = re.compile(r"[A-Z0-9]{10}")


@dataclass(frozen=True, slots=True)
class AppleKeys:
    """The keys that sign a brand's passes and authorise pushes. `certificates` has the signing one, then its issuer."""

    identifier: str
    team: str
    certificates: str
    private_key: str
    push_key: str
    push_key_id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """The uploaded PEM, DER or PKCS #12 bytes. Only `certificate` and `authority` are always required."""

    certificate: bytes
    key: bytes
    authority: bytes
    password: str = ""
    push_key: bytes = b""
    push_key_id: str = ""


def read(upload: Upload, *, at: datetime | None) -> AppleKeys:
    """Parse and check an upload. Checks the validity dates only if `at` is given.

    Raises Unavailable, and Invalid with the wrong field in `details`, also for keys and certificates of unusual size.
    """
    files = keys.read(_files(upload))
    certificate, key = _pair(upload, files)
    authority = _certificate(files["authority"])
    _check(certificate, key, authority)
    if at:
        for name, each in (("certificate", certificate), ("authority", authority)):
            _check_dates(name, each, at)
    return AppleKeys(
        identifier=_word(certificate, NameOID.USER_ID),
        team=_word(certificate, NameOID.ORGANIZATIONAL_UNIT_NAME),
        certificates=_pem(certificate) + _pem(authority),
        private_key=(files.get("key") or files["certificate"]).key,
        push_key=_push_key(upload, files),
        push_key_id=upload.push_key_id.strip(),
        expires_at=min(certificate.not_valid_after_utc, authority.not_valid_after_utc, moments.LAST_MOMENT),
    )


def _files(upload: Upload) -> list[KeyFile]:
    no_certificate = _("This certificate cannot be read. Upload a .cer or .pem file.")
    no_key = _("This private key cannot be read, or the password is wrong.")
    if upload.key:
        result = [
            KeyFile("certificate", "certificate", upload.certificate, no_certificate),
            KeyFile("key", "key", upload.key, no_key, upload.password),
        ]
    else:
        no_both = _("This is not a PKCS #12 file (.p12), or the password is wrong.")
        result = [KeyFile("certificate", "pkcs12", upload.certificate, no_both, upload.password)]
    result.append(KeyFile("authority", "certificate", upload.authority, no_certificate))
    return [*result, KeyFile("push_key", "key", upload.push_key, no_key)] if upload.push_key else result


def _pair(upload: Upload, files: dict[str, ReadFile]) -> tuple[x509.Certificate, RSAPrivateKey]:
    """The certificate and its key, from two files or from one PKCS #12 file."""
    both = files["certificate"]
    private_key = files["key"].key if upload.key else both.key
    if not private_key or not both.certificate:
        raise _wrong("key", _("Upload the private key too, or a .p12 file that contains both."))
    key = keys.load(private_key)
    if not isinstance(key, RSAPrivateKey):
        raise _wrong("key", _("Passes are signed with RSA keys. This is another kind of key."))
    return _certificate(both), key


def _check(certificate: x509.Certificate, key: RSAPrivateKey, authority: x509.Certificate) -> None:
    if _spki(certificate.public_key()) != _spki(key.public_key()):
        raise _wrong("key", _("The private key does not belong to the certificate."))
    if not _word(certificate, NameOID.USER_ID).startswith("pass."):
        raise _wrong("certificate", _("This is not a Pass Type ID certificate: it has no pass type (pass....)."))
    if not _word(certificate, NameOID.ORGANIZATIONAL_UNIT_NAME):
        raise _wrong("certificate", _("This certificate has no team."))
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        message = _("This certificate did not sign the other one. Upload the WWDR certificate of the same generation.")
        raise _wrong("authority", message) from None


def _check_dates(field: str, certificate: x509.Certificate, at: datetime) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if last <= at:
        raise _wrong(field, _("This certificate expired on %(day)s. Create a new one.") % {"day": last.date()})
    if first > at:
        raise _wrong(field, _("This certificate is not valid before %(day)s.") % {"day": first.date()})


def _push_key(upload: Upload, files: dict[str, ReadFile]) -> str:
    if not upload.push_key:
        if upload.push_key_id.strip():
            raise _wrong("push_key", _("Upload the key (.p8) that this id belongs to."))
        return ""
    key = keys.load(files["push_key"].key)
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise _wrong("push_key", _("This is not an APNs key. Apple's .p8 files contain an ES256 key."))
    if not KEY_ID.fullmatch(upload.push_key_id.strip()):
        raise _wrong("push_key_id", _("Enter the key id as Apple shows it: ten capital letters and digits."))
    return files["push_key"].key


def _certificate(file: ReadFile) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.certificate.encode())


def _wrong(field: str, text: str) -> Invalid:
    return Invalid(text, details={"field": field})


def _word(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> str:
    result = certificate.subject.get_attributes_for_oid(oid)
    return str(result[0].value) if result else ""


def _spki(key: Any) -> bytes:
    result: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return result


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
