"""The token of a guest's scan: for some minutes it proves that the scan was theirs. Nothing is stored."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.core import signing

SALT = "authcodes.guest-scan"
MAX_LENGTH = 200


def token_of(scan_id: UUID, *, scanned_at: datetime) -> str:
    """`<time>:<signature>`, made from the scan's id, which the holder must send as well.

    It has the scan's time, so a token issued again for the same Idempotency-Key expires at the same time.
    """
    text = f"{scan_id}:{signing.b62_encode(int(scanned_at.timestamp()))}"
    return signing.Signer(salt=SALT).sign(text).removeprefix(f"{scan_id}:")


def proves(token: str, *, scan_id: UUID) -> bool:
    """Whether `token` was issued with this scan and has not expired."""
    try:
        signer = signing.TimestampSigner(salt=SALT)
        signer.unsign(f"{scan_id}:{token}", max_age=settings.GUEST_SCAN_MINUTES * 60)
    except signing.BadSignature:
        return False
    return True
