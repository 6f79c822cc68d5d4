"""Membership numbers: what a wallet pass shows as a barcode, and what a till or the portal reads of it."""

from django.core import signing

SALT = "loyalty.members.numbers"


def number(account: int) -> str:
    """As people read it; it proves nothing."""
    return f"{account:010d}"


def barcode(account: int) -> str:
    """What the barcode holds: the number, and a signature so that nobody can make one for another member."""
    return signing.Signer(salt=SALT, sep=".").sign(number(account))


def read(text: str) -> int | None:
    """The account (user_point_id) that a scanned barcode names; None for anything else."""
    try:
        result = signing.Signer(salt=SALT, sep=".").unsign(text.strip())
    except signing.BadSignature:
        return None
    return int(result)
