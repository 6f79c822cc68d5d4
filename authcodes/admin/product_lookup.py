"""Lookup of products for codes: only products that are sold."""

from portal.base.forms import Lookup

SOLD_ONLY = "sold"  # in the lookup's address, read by the product admin


class SoldLookup(Lookup):
    """Suggests products that are sold while the user types."""

    def get_url(self) -> str:
        address: str = super().get_url()
        return f"{address}?{SOLD_ONLY}=yes"
