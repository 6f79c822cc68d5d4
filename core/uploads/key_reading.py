"""Reads uploaded keys and certificates and rewrites them: a program that core.uploads.keys starts for each upload.

It imports only cryptography, reads the files from standard input, and limits its own memory and time: an encrypted
key sets how often its password is hashed, and the time to check an RSA key grows with the cube of its size.
"""

import base64
import json
import resource
import sys
from typing import Any, BinaryIO

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)

MEMORY_BYTES = 512 * 1024 * 1024  # of address space
CPU_SECONDS = 5
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 4096
MAX_KEY_BYTES = 4_000  # of a rewritten key; one of 4096 bits has 3,272


class Unfit(Exception):
    """The key's kind or size is unusual."""


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer each file with a line of JSON as soon as it is read: the first file without a line exceeded the limits."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for file in json.load(source):
        outcome = answer(file["holds"], base64.b64decode(file["content"]), file["password"].encode() or None)
        target.write(json.dumps(outcome).encode() + b"\n")
        target.flush()


def answer(holds: str, content: bytes, password: bytes | None) -> dict[str, str]:
    """The `key` and the `certificate` of a file as PEM, or why it is `unfit`: `unusual` or `unreadable`."""
    try:
        key, certificate = {"key": _key, "certificate": _certificate, "pkcs12": _both}[holds](content, password)
        return {
            **({"key": _rewritten_key(key)} if key else {}),
            **({"certificate": _rewritten_certificate(certificate)} if certificate else {}),
        }
    except (Unfit, MemoryError):
        return {"unfit": "unusual"}
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return {"unfit": "unreadable"}


def _key(content: bytes, password: bytes | None) -> tuple[Any, None]:
    is_pem = b"-----BEGIN" in content
    return (load_pem_private_key(content, password) if is_pem else load_der_private_key(content, password)), None


def _certificate(content: bytes, _password: bytes | None) -> tuple[None, x509.Certificate]:
    is_pem = content.lstrip().startswith(b"-----BEGIN")
    return None, (x509.load_pem_x509_certificate(content) if is_pem else x509.load_der_x509_certificate(content))


def _both(content: bytes, password: bytes | None) -> tuple[Any, x509.Certificate | None]:
    key, certificate, _chain = pkcs12.load_key_and_certificates(content, password)
    return key, certificate


def _rewritten_key(key: Any) -> str:
    _check(key.public_key())
    result: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    if len(result) > MAX_KEY_BYTES:
        raise Unfit
    return result.decode()


def _rewritten_certificate(certificate: x509.Certificate) -> str:
    _check(certificate.public_key())
    return certificate.public_bytes(Encoding.PEM).decode()


def _check(public_key: Any) -> None:
    if isinstance(public_key, RSAPublicKey):
        is_usual = MIN_RSA_BITS <= public_key.key_size <= MAX_RSA_BITS
    else:
        is_usual = isinstance(public_key, EllipticCurvePublicKey) and isinstance(public_key.curve, SECP256R1)
    if not is_usual:
        raise Unfit


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
