"""Who looks at a page of the portal, and the brands that the page has read already."""

from django.http import HttpRequest

from brands.models.people import User
from brands.models.tenants import Brand


def staff_user(request: HttpRequest) -> User:
    """Who looks at the portal; its views let nobody in who is not logged in."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user


def brands_by_page(request: HttpRequest) -> dict[str, list[Brand]]:
    """By a page's label the brands whose rows the person sees there, for those pages that were asked."""
    known: dict[str, list[Brand]] = vars(request).setdefault("brands_by_page", {})
    return known


def loaded_brand(request: HttpRequest, brand_id: int) -> Brand | None:
    """One of these brands, so that a page reads it once; None where no page has read it."""
    brands = (brand for rows in brands_by_page(request).values() for brand in rows)
    return next((brand for brand in brands if brand.pk == brand_id), None)
