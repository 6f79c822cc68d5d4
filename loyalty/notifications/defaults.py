"""How a brand writes to its customers from its first day: by e-mail, until staff decide otherwise."""

from brands.models.tenants import Brand
from loyalty.models.notifications import NotificationSettings


def create(brand: Brand) -> None:
    """The new brand's notification settings. Joins the transaction that creates the brand."""
    NotificationSettings.objects.get_or_create(brand=brand)
