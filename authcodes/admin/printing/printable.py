"""The batches whose codes the user can print now."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from authcodes.admin.printing.access import LABEL
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from authcodes.printing.runs import WITHOUT_FILE
from brands.identity import roles
from brands.identity.roles import ACT
from brands.models.tenants import Brand
from core.numbers import format_number

MAX_BATCHES = 5  # on Home


@dataclass(frozen=True, slots=True)
class Printable:
    """A batch whose codes can be printed now."""

    batch: BatchRange
    is_printed: bool  # at least some of its codes

    @property
    def link(self) -> str:
        return reverse("admin:authcodes_printrun_batch", args=[self.batch.pk])

    @property
    def page(self) -> str:
        return reverse("admin:authcodes_batchrange_change", args=[self.batch.pk])

    @property
    def quantity(self) -> str:
        return format_number(self.batch.quantity)


def printable(request: HttpRequest, brands: Sequence[Brand], *, most: int = MAX_BATCHES) -> list[Printable]:
    """The newest generated batches with codes, neither recalled nor expired, that the user may print. One query."""
    within = roles.brand_scope(request.user, ACT, LABEL)
    days = {brand.pk: brand.day_at(timezone.now()) for brand in brands if brand.pk in within}
    valid = Q()
    for brand_id, today in days.items():
        valid |= Q(Q(expiration_date__isnull=True) | Q(expiration_date__gte=today), brand=brand_id)
    if not days:
        return []
    rows = BatchRange.objects.filter(valid, generated_count=F("quantity"), quantity__gt=0, recall__isnull=True)
    runs = PrintRun.objects.filter(batch=OuterRef("pk")).exclude(job__status__in=WITHOUT_FILE)
    result = rows.annotate(printed=Exists(runs)).select_related("product", "brand").order_by("-id")[:most]
    return [Printable(batch, batch.printed or batch.printed_elsewhere) for batch in result]
