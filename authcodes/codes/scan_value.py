"""The value of a scan: who may set points, scan limit, expiry and campaign of codes, and the maximum of points."""

from django.utils.translation import gettext_noop

from authcodes.errors import BatchRejected
from authcodes.models.products import Product
from brands.identity import roles
from brands.identity.roles import SCAN_VALUE
from brands.models.people import User
from brands.models.tenants import Brand
from core.languages import StoredText

LABEL = "authcodes.batchrange"


def may_set(user: User, brand_id: int) -> bool:
    """Whether the user may set points, scan limit, expiry and campaign at this brand."""
    return brand_id in roles.full_scope(user, SCAN_VALUE, LABEL)


def max_points(*, brand: Brand, by: User | None) -> int:
    """The most points that `by` may set by hand; -1 for none. Without a user it is the brand's ceiling."""
    return -1 if by is not None and not may_set(by, brand.pk) else brand.max_points_per_scan


def check_points(*, brand: Brand, points: int | None, by: User | None) -> None:
    """Raises BatchRejected for points that `by` may not set."""
    if points is not None and points > max_points(brand=brand, by=by):
        raise BatchRejected(str(why_not(brand=brand, by=by)), details={"field": "points_per_scan"})


def why_not(*, brand: Brand, by: User | None) -> StoredText:
    """The error message for a user who requested more points."""
    if max_points(brand=brand, by=by) < 0:
        return StoredText(gettext_noop("Only managers and owners can set points."))
    message = gettext_noop(
        "At most %(most)s points per scan. A batch or product can have more with a second person's approval."
    )
    return StoredText(message, {"most": brand.max_points_per_scan})


def max_product_points(*, brand: Brand, by: User | None) -> int | None:
    """The most points of a product for which `by` may make codes; None without a limit."""
    return None if by is None or may_set(by, brand.pk) else brand.max_points_per_scan


def check_product(*, product: Product, by: User | None) -> None:
    """Raises BatchRejected for a product whose points `by` may not set: they may not make codes for it."""
    most = max_product_points(brand=product.brand, by=by)
    if most is not None and (product.redeem_point_value or 0) > most:
        raise BatchRejected(str(why_not_product(product.brand)), details={"field": "product"})


def why_not_product(brand: Brand) -> StoredText:
    """The error message for a user who may not make codes for a product."""
    message = gettext_noop(
        "Scans of this product earn more than %(most)s points. Only managers and owners can generate codes for it."
    )
    return StoredText(message, {"most": brand.max_points_per_scan})
