"""The brands for which a user may open a page, the one that they chose, and links to the page of each other one."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404

from brands.identity.roles import BrandScope
from brands.models.tenants import Brand
from core.numbers import is_id

MAX_LINKS = 50


def brands_within(scope: BrandScope) -> QuerySet[Brand]:
    """Raises PermissionDenied if the scope is empty."""
    if not scope:
        raise PermissionDenied
    return scope.of(Brand.objects.order_by("name", "pk"), "pk")


def chosen_brand(brands: QuerySet[Brand], brand_id: str) -> Brand:
    """The brand with this ID, or the first one if it is empty. Raises Http404."""
    if brand_id and not is_id(brand_id):
        raise Http404
    brand = (brands.filter(pk=int(brand_id)) if brand_id else brands).first()
    if brand is None:
        raise Http404
    return brand


def brand_links(brands: QuerySet[Brand], chosen: Brand, address_of: Callable[[Brand], str]) -> list[dict[str, Any]]:
    """Links for admin/portal/brands.html; none for users who work for one brand."""
    rows = list(brands[:MAX_LINKS])
    if len(rows) < 2:
        return []
    return [{"label": str(each), "address": address_of(each), "is_current": each == chosen} for each in rows]
