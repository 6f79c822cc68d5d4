"""The products of a batch's codes. Each batch is one index lookup, however many codes it has."""

from collections.abc import Sequence

from django.db.models import OuterRef, Q, Subquery

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from core.db.statements import query_values

MAX_PRODUCTS = 12  # looked up for each batch, and named on a poster

PRODUCTS_IN_BATCHES = query_values("authcodes/codes/sql/products_in_batches.sql", "product_id")


def batch_ids(product: Product) -> list[int]:
    """The brand's batches with codes of a product: made for it, or with codes assigned to it."""
    rows = BatchRange.objects.filter(brand=product.brand_id).annotate(nearest=nearest(product_id__gte=product.pk))
    holding = rows.filter(Q(product=product) | Q(nearest=product.pk))
    return list(holding.order_by("pk").values_list("pk", flat=True))


def mixed_batches(ids: Sequence[int], product: Product, *, limit: int) -> list[str]:
    """The names of the first batches that also have codes of other products."""
    rows = BatchRange.objects.filter(pk__in=ids).annotate(
        before=nearest(product_id__lt=product.pk), after=nearest(product_id__gt=product.pk)
    )
    mixed = rows.filter(Q(before__isnull=False) | Q(after__isnull=False)).order_by("range_name")
    return list(mixed.values_list("range_name", flat=True)[:limit])


def products_in(ids: Sequence[int]) -> set[int]:
    """The ids of the products of these batches' codes, at most MAX_PRODUCTS for each batch."""
    return set(PRODUCTS_IN_BATCHES.all(batches=list(ids), limit=MAX_PRODUCTS)) if ids else set()


def nearest(**condition: int) -> Subquery:
    """The lowest matching product id of a batch's codes. Only the index of a batch's products has this order."""
    codes = AuthCode.objects.filter(batch=OuterRef("pk"), **condition)
    return Subquery(codes.order_by("product_id").values("product_id")[:1])
