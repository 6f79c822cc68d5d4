"""Key files of some kilobytes that take minutes or gigabytes to read."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

PBES2, PBKDF2, SCRYPT, HMAC_SHA256, AES256_CBC = (
    bytes.fromhex(each)
    for each in (
        "06092a864886f70d01050d",
        "06092a864886f70d01050c",
        "06092b06010401da47040b",
        "06082a864886f70d0209",
        "060960864801650304012a",
    )
)
SALT = b"\x04\x10" + bytes(16)


def pbkdf2_key(iterations: int) -> bytes:
    """An encrypted PKCS #8 key whose password is hashed by PBKDF2."""
    return encrypted(sequence(PBKDF2, sequence(SALT, integer(iterations), sequence(HMAC_SHA256, b"\x05\x00"))))


def scrypt_key(cost: int) -> bytes:
    """An encrypted PKCS #8 key whose password is hashed by scrypt, in `cost` kilobytes."""
    return encrypted(sequence(SCRYPT, sequence(SALT, integer(cost), integer(8), integer(1))))


def rsa_key(first: int = 9_689, second: int = 11_213) -> Any:
    """An RSA key of two Mersenne primes, which need no search; by default of 20,902 bits."""
    p, q, e = 2**first - 1, 2**second - 1, 65_537
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def certificate(key: Any) -> bytes:
    """Signed by the key itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "slow")])
    now = datetime.now(tz=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


def plain(key: Any, encoding: Encoding = Encoding.PEM) -> bytes:
    result: bytes = key.private_bytes(encoding, PrivateFormat.PKCS8, NoEncryption())
    return result


def encrypted(hashing: bytes) -> bytes:
    cipher = sequence(AES256_CBC, SALT)
    return sequence(sequence(PBES2, sequence(hashing, cipher)), tagged(4, bytes(1_232)))


def sequence(*parts: bytes) -> bytes:
    return tagged(0x30, b"".join(parts))


def integer(value: int) -> bytes:
    return tagged(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def tagged(tag: int, content: bytes) -> bytes:
    """The content with its tag and length, as DER encodes it."""
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + content
