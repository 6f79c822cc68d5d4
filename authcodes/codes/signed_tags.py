"""Tags of signed codes: `code.tag`, so that one code does not reveal the next. Nothing is stored for each code."""

import hashlib
import hmac

from django.conf import settings

# Crockford's base32 leaves out I, L and O, which are easily misread, and U, which makes words. 11 characters hold 55
# bits: 7 bytes without the last bit.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 11
_MISREAD = str.maketrans({"I": "1", "L": "1", "O": "0"})


def current_version() -> int | None:
    """The version of the secret for new batches; None if no secret is configured."""
    return max(settings.CODE_TAG_SECRETS, default=None)


def tag(*, code: str, batch_id: int, version: int) -> str:
    """The tag of a code: truncated HMAC-SHA256 with the batch's own key. Raises KeyError for a lost secret."""
    secret = settings.CODE_TAG_SECRETS[version].encode()
    batch_key = hmac.digest(secret, b"batch:%d" % batch_id, hashlib.sha256)
    number = int.from_bytes(hmac.digest(batch_key, code.encode(), hashlib.sha256)[:7], "big") >> 1
    return "".join(ALPHABET[number >> shift & 31] for shift in range(5 * LENGTH - 5, -1, -5))


def verify_tag(*, candidate: str, code: str, batch_id: int, version: int) -> bool:
    """Whether `candidate` is this code's tag, ignoring case and misread letters. With a lost secret, none is."""
    if version not in settings.CODE_TAG_SECRETS:
        return False
    expected = tag(code=code, batch_id=batch_id, version=version)
    return hmac.compare_digest(candidate.upper().translate(_MISREAD).encode(), expected.encode())


def fits(*, candidate: str, code: str, batch_id: int, version: int | None) -> bool:
    """Whether `candidate` belongs to this code: its tag, or empty for a code of an unsigned batch."""
    return (
        not candidate
        if version is None
        else verify_tag(candidate=candidate, code=code, batch_id=batch_id, version=version)
    )
