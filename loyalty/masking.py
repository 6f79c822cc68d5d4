"""Names a person or an address without telling it: enough to ask "is this you?", too little to look them up."""

from loyalty.models import UserPoints

DOTS = "•••"


def masked(member: UserPoints) -> str:
    """`A••• L•••, a•••@example.com`: the initials, where there are names, and the address's first letter and host."""
    names = " ".join(f"{name[0]}{DOTS}" for name in member.names if name)
    address = masked_mail(member.user.email)
    return f"{names}, {address}" if names else address


def masked_mail(address: str) -> str:
    mailbox, _at, host = address.rpartition("@")
    return f"{mailbox[:1]}{DOTS}@{host}"
