"""Products: writes the points that a second person approved."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from authcodes.models.products import Product
from brands.models.people import User


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
