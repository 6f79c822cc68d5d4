"""What brands use of their quotas: codes, uploads, jobs and storage, counted in their tables for brands.quotas."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Count, F, Model, QuerySet, Sum
from django.db.models.functions import Length

from authcodes.models import BatchRange, Import, Job
from brands.models import Picture


def codes(brand_ids: Sequence[int], since: datetime) -> Counter[int]:  # noqa: ARG001 - all there are
    """Those of a batch count from its first moment, generated or not."""
    return by_brand(BatchRange.objects.filter(brand__in=brand_ids), Sum("quantity"))


def uploads(brand_ids: Sequence[int], since: datetime) -> Counter[int]:
    return by_brand(Import.objects.filter(brand__in=brand_ids, uploaded_at__gte=since), Count("pk"))


def jobs(brand_ids: Sequence[int], since: datetime) -> Counter[int]:
    return by_brand(Job.objects.filter(brand__in=brand_ids, created_at__gte=since), Count("pk"))


def storage(brand_ids: Sequence[int], since: datetime) -> Counter[int]:  # noqa: ARG001 - all there is
    """Bytes of the files that jobs made, of uploads and of pictures, until they are deleted."""
    made = by_brand(Job.objects.filter(brand__in=brand_ids).exclude(result=""), Sum("result_bytes"))
    uploaded = by_brand(Import.objects.filter(brand__in=brand_ids).exclude(file=""), Sum("file_bytes"))
    pictures = Picture.objects.filter(brand__in=brand_ids)
    return made + uploaded + by_brand(pictures, Sum(Length(F("content")) + Length(F("small"))))


def by_brand(rows: "QuerySet[Model]", figure: Sum | Count) -> Counter[int]:
    found = rows.order_by().values_list("brand").annotate(figure=figure)
    return Counter({brand_id: int(many or 0) for brand_id, many in found})
