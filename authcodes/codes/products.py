"""Products: makes and changes them for the API, writes points that were approved, finds batches with codes of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.utils.translation import gettext as _

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.access import rows
from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.statements import query_values
from core.errors import Invalid
from core.numbers import grouped

MAX_PRODUCTS = 12  # of a batch's codes that are looked for: no page names more

PRODUCTS_IN_BATCHES = query_values("authcodes/codes/sql/products_in_batches.sql", "product_id")


def create(*, brand: Brand, values: Mapping[str, Any], audit_context: AuditContext) -> Product:
    """A new product. Raises Invalid, which names the field."""
    made = Product(brand=brand, **values)
    check_points(made)
    return refreshed(rows.create(made, brand_id=brand.pk, audit_context=audit_context))


def change(*, brand: Brand, product_id: int, values: Mapping[str, Any], audit_context: AuditContext) -> Product:
    """Set `values` of the brand's product. Raises NotFound, and Invalid, which names the field."""
    own_rows = Product.objects.select_related("brand").filter(brand=brand, pk=product_id)
    changed = rows.change(own_rows, values, brand_id=brand.pk, audit_context=audit_context, check=check_more)
    return refreshed(changed)


def check_more(before: Product, after: Product) -> None:
    """Points that were approved before may stay. Raises Invalid for more than the brand's ceiling."""
    if after.redeem_point_value != before.redeem_point_value:
        check_points(after)


def check_points(product: Product) -> None:
    """Raises Invalid for more points than the brand's ceiling: those need a second person."""
    most = product.brand.max_points_per_scan
    if (product.redeem_point_value or 0) > most:
        message = _("At most %(most)s points per scan. More needs a second person's approval in the portal.")
        raise Invalid(message % {"most": grouped(most)}, details={"field": "points_per_scan"})


def refreshed(product: Product) -> Product:
    """With the moment of the change, which the database sets."""
    product.refresh_from_db(fields=["updated_at"])
    return product


def set_approved(
    *,
    row: Product,
    values: Mapping[str, Any],
    max_total: Decimal | None,  # noqa: ARG001 - a product has no number of codes
    by: User,  # noqa: ARG001 - the approval says who
    at: datetime,  # noqa: ARG001
) -> None:
    """Write approved points onto a product; settings.APPROVED_POINTS names it. Call in the approval's transaction."""
    Product.objects.filter(pk=row.pk).update(**values)


# --- Whose codes a batch has. Each batch is one look into an index, however many codes it has.


def batch_ids(product: Product) -> list[int]:
    """Batches of its brand that hold codes of a product: those made for it, and those whose codes were given to it."""
    rows = BatchRange.objects.filter(brand=product.brand_id).annotate(nearest=nearest(product_id__gte=product.pk))
    holding = rows.filter(Q(product=product) | Q(nearest=product.pk))
    return list(holding.order_by("pk").values_list("pk", flat=True))


def mixed_batches(ids: Sequence[int], product: Product, *, limit: int) -> list[str]:
    """Those of the batches, by name, that have codes of other products too; the first of them."""
    rows = BatchRange.objects.filter(pk__in=ids).annotate(
        before=nearest(product_id__lt=product.pk), after=nearest(product_id__gt=product.pk)
    )
    mixed = rows.filter(Q(before__isnull=False) | Q(after__isnull=False)).order_by("range_name")
    return list(mixed.values_list("range_name", flat=True)[:limit])


def in_batches(ids: Sequence[int]) -> set[int]:
    """The products of their codes, by id: MAX_PRODUCTS of each batch at most."""
    return set(PRODUCTS_IN_BATCHES.all(batches=list(ids), limit=MAX_PRODUCTS)) if ids else set()


def nearest(**condition: int) -> Subquery:
    """The first product of a batch's codes that is so. Only the index of a batch's products has this order."""
    codes = AuthCode.objects.filter(batch=OuterRef("pk"), **condition)
    return Subquery(codes.order_by("product_id").values("product_id")[:1])
