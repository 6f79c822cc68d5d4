"""Text that is cut: a list to its first names, an address to what asks "is this you?" and finds nobody."""

from collections.abc import Sequence

DOTS = "•••"
MAX_NAMED = 10  # of a list in a sentence


def masked_mail(address: str) -> str:
    mailbox, _at, host = address.rpartition("@")
    return f"{mailbox[:1]}{DOTS}@{host}"


def shortened(names: Sequence[str], *, most: int = MAX_NAMED) -> str:
    """The first of them, and an ellipsis where there are more."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
