"""The token that a guest gets with a scan: for some minutes it proves that the scan was theirs. Nothing is stored."""

from uuid import UUID

from django.conf import settings
from django.core import signing

SALT = "authcodes.guest-scan"
LONGEST = 200


def token_of(scan_id: UUID) -> str:
    """`<time>:<signature>`, made of the scan's id, which whoever shows the token has to know too."""
    text = str(scan_id)
    return _signer().sign(text).removeprefix(f"{text}:")


def proves(token: str, *, scan_id: UUID) -> bool:
    """Whether `token` was given out with this scan, and not too long ago."""
    try:
        _signer().unsign(f"{scan_id}:{token}", max_age=settings.GUEST_SCAN_MINUTES * 60)
    except signing.BadSignature:
        return False
    return True


def _signer() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=SALT)
