"""Lookup of products for codes: only products that are on sale."""

from portal.base.forms import Lookup

ACTIVE_ONLY = "active"  # in the lookup's address, read by the product admin


class ActiveProductLookup(Lookup):
    """While the user types, suggests products that are on sale."""

    def get_url(self) -> str:
        address: str = super().get_url()
        return f"{address}?{ACTIVE_ONLY}=yes"
