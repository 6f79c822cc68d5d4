"""The initial notification settings of a brand: by e-mail, until staff change them."""

from brands.models.tenants import Brand
from loyalty.models.notifications import NotificationSettings


def create(brand: Brand) -> None:
    """Create the new brand's notification settings. Joins the transaction that creates the brand."""
    NotificationSettings.objects.get_or_create(brand=brand)
