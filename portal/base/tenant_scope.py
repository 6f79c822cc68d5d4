"""The current user of a portal page, and the brands that the page has read already."""

from django.http import HttpRequest

from brands.models.people import User
from brands.models.tenants import Brand


def staff_user(request: HttpRequest) -> User:
    """The current user; the portal's views require a login."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user


def brands_by_page(request: HttpRequest) -> dict[str, list[Brand]]:
    """The brands whose rows the user sees, by page label, for the pages that were asked already."""
    known: dict[str, list[Brand]] = vars(request).setdefault("brands_by_page", {})
    return known


def loaded_brand(request: HttpRequest, brand_id: int) -> Brand | None:
    """One of these brands, so that a page reads it once; None if no page has read it."""
    brands = (brand for rows in brands_by_page(request).values() for brand in rows)
    return next((brand for brand in brands if brand.pk == brand_id), None)
