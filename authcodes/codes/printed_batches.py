"""Batches of codes that another company printed: create and empty them. An import's rows supply the codes."""

from datetime import datetime

from django.utils.translation import gettext as _

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.batches import BatchRange
from brands.models.people import User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas


def create(
    *,
    brand: Brand,
    batch_settings: BatchSettings,
    first_code: str,
    last_code: str,
    at: datetime,
    by: User | None,
) -> BatchRange:
    """Store a batch for codes that another company printed. The caller writes all of them in this transaction.

    Raises BatchRejected, and QuotaReached above the brand's quota of codes.
    """
    batches.check(brand=brand, batch_settings=batch_settings, at=at, by=by)
    quotas.require(brand.pk, BrandQuota.Resource.CODES, more=batch_settings.quantity, field="file")
    return BatchRange.objects.create(
        brand=brand,
        **batch_settings.columns,
        printed_elsewhere=True,
        generated_count=batch_settings.quantity,
        first_code=first_code,
        last_code=last_code,
        created_at=at,
        created_by=by,
    )


def empty(*, batch: BatchRange, import_id: int) -> None:
    """Keep a batch whose codes are gone, with its history, and free its name."""
    name = _("%(name)s (import %(number)d undone)") % {"name": batch.range_name[:80], "number": import_id}
    BatchRange.objects.filter(pk=batch.pk).update(quantity=0, generated_count=0, range_name=name)
