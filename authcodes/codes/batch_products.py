"""Which products the codes of batches have. Each batch is one look into an index, however many codes it has."""

from collections.abc import Sequence

from django.db.models import OuterRef, Q, Subquery

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from core.db.statements import query_values

MAX_PRODUCTS = 12  # of each batch's codes that are looked for, and that a poster names

PRODUCTS_IN_BATCHES = query_values("authcodes/codes/sql/products_in_batches.sql", "product_id")


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


def products_in(ids: Sequence[int]) -> set[int]:
    """The products of their codes, by id: MAX_PRODUCTS of each batch at most."""
    return set(PRODUCTS_IN_BATCHES.all(batches=list(ids), limit=MAX_PRODUCTS)) if ids else set()


def nearest(**condition: int) -> Subquery:
    """The first product of a batch's codes that is so. Only the index of a batch's products has this order."""
    codes = AuthCode.objects.filter(batch=OuterRef("pk"), **condition)
    return Subquery(codes.order_by("product_id").values("product_id")[:1])
