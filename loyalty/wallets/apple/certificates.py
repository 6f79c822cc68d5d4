"""Apple's certificates and keys as brands upload them: read, held against each other, and put into one form."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import NameOID
from django.utils.translation import gettext as _

from core import moments
from core.errors import Invalid

KEY_ID = re.compile(r"[A-Z0-9]{10}")


@dataclass(frozen=True, slots=True)
class AppleKeys:
    """What signs a brand's passes and speaks to their devices. `certificates` is the signing one, then its issuer."""

    identifier: str
    team: str
    certificates: str
    private_key: str
    push_key: str
    push_key_id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """What was uploaded: PEM, DER or PKCS #12 bytes as they came; only the first and the third are always needed."""

    certificate: bytes
    key: bytes
    authority: bytes
    password: str = ""
    push_key: bytes = b""
    push_key_id: str = ""


def read(upload: Upload, *, at: datetime | None) -> AppleKeys:
    """Raises Invalid, whose `details` name the field that is wrong. Without `at` nobody asks whether they are valid."""
    certificate, key = _pair(upload)
    authority = _certificate(upload.authority, "authority")
    _check(certificate, key, authority)
    if at:
        for name, each in (("certificate", certificate), ("authority", authority)):
            _check_dates(name, each, at)
    return AppleKeys(
        identifier=_word(certificate, NameOID.USER_ID),
        team=_word(certificate, NameOID.ORGANIZATIONAL_UNIT_NAME),
        certificates=_pem(certificate) + _pem(authority),
        private_key=_private(key),
        push_key=_push_key(upload),
        push_key_id=upload.push_key_id.strip(),
        expires_at=min(certificate.not_valid_after_utc, authority.not_valid_after_utc, moments.LAST_MOMENT),
    )


def _pair(upload: Upload) -> tuple[x509.Certificate, RSAPrivateKey]:
    """The certificate and its key, from a file each or from one PKCS #12 file."""
    password = upload.password.encode() or None
    if not upload.key:
        with _readable("certificate", _("This is not a PKCS #12 file (.p12), or the password is wrong.")):
            key, certificate, _chain = pkcs12.load_key_and_certificates(upload.certificate, password)
        if key is None or certificate is None:
            raise _wrong("key", _("Upload the private key too, or a .p12 file that contains both."))
    else:
        certificate = _certificate(upload.certificate, "certificate")
        key = _key(upload.key, password, "key")
    if not isinstance(key, RSAPrivateKey):
        raise _wrong("key", _("Passes are signed with RSA keys. This is another kind of key."))
    return certificate, key


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
        message = _("This certificate did not sign the other one. Take the WWDR certificate of the same generation.")
        raise _wrong("authority", message) from None


def _check_dates(field: str, certificate: x509.Certificate, at: datetime) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if last <= at:
        raise _wrong(field, _("This certificate expired on %(day)s. Create a new one.") % {"day": last.date()})
    if first > at:
        raise _wrong(field, _("This certificate is not valid before %(day)s.") % {"day": first.date()})


def _push_key(upload: Upload) -> str:
    if not upload.push_key:
        if upload.push_key_id.strip():
            raise _wrong("push_key", _("Upload the key (.p8) that this id belongs to."))
        return ""
    key = _key(upload.push_key, None, "push_key")
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise _wrong("push_key", _("This is not an APNs key. Apple's .p8 files contain an ES256 key."))
    if not KEY_ID.fullmatch(upload.push_key_id.strip()):
        raise _wrong("push_key_id", _("Enter the key id as Apple shows it: ten capital letters and digits."))
    return _private(key)


def _certificate(content: bytes, field: str) -> x509.Certificate:
    with _readable(field, _("This certificate cannot be read. Upload a .cer or .pem file.")):
        is_pem = content.lstrip().startswith(b"-----BEGIN")
        return x509.load_pem_x509_certificate(content) if is_pem else x509.load_der_x509_certificate(content)


def _key(content: bytes, password: bytes | None, field: str) -> Any:
    with _readable(field, _("This private key cannot be read, or the password is wrong.")):
        is_pem = b"-----BEGIN" in content
        return load_pem_private_key(content, password) if is_pem else load_der_private_key(content, password)


@contextmanager
def _readable(field: str, text: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _wrong(field, text) from error


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


def _private(key: Any) -> str:
    result: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return result.decode()
