"""Membership numbers: shown as barcodes on wallet passes, and read by tills and the portal."""

from django.core import signing

SALT = "loyalty.members.numbers"


def number(account: int) -> str:
    """For people to read. It is not signed, so it proves nothing."""
    return f"{account:010d}"


def barcode(account: int) -> str:
    """The number with a signature, so that nobody can forge another member's barcode."""
    return signing.Signer(salt=SALT, sep=".").sign(number(account))


def read(text: str) -> int | None:
    """The account (user_point_id) of a scanned barcode, or None for any other text."""
    try:
        result = signing.Signer(salt=SALT, sep=".").unsign(text.strip())
    except signing.BadSignature:
        return None
    return int(result)
