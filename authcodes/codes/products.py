"""Products: creates and changes them for the API, and writes approved points."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from authcodes.models.products import Product
from brands.access import rows
from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Invalid
from core.numbers import grouped


def create(*, brand: Brand, values: Mapping[str, Any], audit_context: AuditContext) -> Product:
    """Create a product. Raises Invalid with the field."""
    made = Product(brand=brand, **values)
    check_points(made)
    return refreshed(rows.create(made, brand_id=brand.pk, audit_context=audit_context))


def change(*, brand: Brand, product_id: int, values: Mapping[str, Any], audit_context: AuditContext) -> Product:
    """Set `values` on the brand's product. Raises NotFound, and Invalid with the field."""
    own_rows = Product.objects.select_related("brand").filter(brand=brand, pk=product_id)
    changed = rows.change(own_rows, values, brand_id=brand.pk, audit_context=audit_context, check=check_more)
    return refreshed(changed)


def check_more(before: Product, after: Product) -> None:
    """Check changed points; approved points may stay. Raises Invalid above the brand's ceiling."""
    if after.redeem_point_value != before.redeem_point_value:
        check_points(after)


def check_points(product: Product) -> None:
    """Raises Invalid for points above the brand's ceiling: those need a second person."""
    most = product.brand.max_points_per_scan
    if (product.redeem_point_value or 0) > most:
        message = _("At most %(most)s points per scan. Higher values need a second person's approval in the portal.")
        raise Invalid(message % {"most": grouped(most)}, details={"field": "points_per_scan"})


def refreshed(product: Product) -> Product:
    """Reload the time of the change, which the database sets."""
    product.refresh_from_db(fields=["updated_at"])
    return product


def set_approved(
    *,
    row: Product,
    values: Mapping[str, Any],
    max_total: Decimal | None,  # noqa: ARG001 - a product has no number of codes
    by: User,  # noqa: ARG001 - the approval has it
    at: datetime,  # noqa: ARG001
) -> None:
    """Write approved points to a product; called through settings.APPROVED_POINTS in the approval's transaction."""
    Product.objects.filter(pk=row.pk).update(**values)
