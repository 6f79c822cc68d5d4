"""The choice of a product for codes: those that are sold."""

from portal.base.forms import Lookup

SOLD_ONLY = "sold"  # the page of products reads it from the look-up's address


class SoldLookup(Lookup):
    """Looks up products that are sold, as they are typed."""

    def get_url(self) -> str:
        address: str = super().get_url()
        return f"{address}?{SOLD_ONLY}=yes"
