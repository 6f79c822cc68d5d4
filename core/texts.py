"""Shortened text: the first entries of a list, and a masked e-mail address."""

from collections.abc import Sequence

DOTS = "•••"
MAX_NAMED = 10  # entries of a list in a sentence


def masked_mail(address: str) -> str:
    mailbox, _at, host = address.rpartition("@")
    return f"{mailbox[:1]}{DOTS}@{host}"


def shortened(names: Sequence[str], *, most: int = MAX_NAMED) -> str:
    """The first entries, and an ellipsis if there are more."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
