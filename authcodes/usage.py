"""What brands use of their quotas: codes, uploads, jobs, broadcasts and storage, counted for brands.tenants.quotas."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, Count, F, QuerySet, Sum, TextField, Value
from django.db.models.functions import Coalesce, Length

from authcodes import data_exports
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.models.quotas import BrandQuota
from brands.models.tenants import Picture
from brands.tenants.quotas import Used
from jobs.models import Job, StagedUpload
from loyalty.models.messages.broadcasts import Broadcast

Resource = BrandQuota.Resource


def counted(brand_ids: Sequence[int], since: datetime, resources: Collection[str]) -> Used:
    """In one statement. Codes count from their batch's first moment, files until they are deleted."""
    first, *remaining = [
        part
        for resource, rows, figure in tables(since)
        if resource in resources
        for part in [by_brand(rows.filter(brand__in=brand_ids), resource, figure)]
    ]
    result = first.union(*remaining, all=True) if remaining else first
    used: Used = {}
    for brand_id, resource, figure in result:
        used[brand_id, resource] = used.get((brand_id, resource), 0) + int(figure)
    return used


def tables(since: datetime) -> Iterator[tuple[Resource, "QuerySet[Any]", Sum | Count]]:
    """Where each resource is counted; storage in four."""
    yield Resource.CODES, BatchRange.objects.all(), Sum("quantity")
    yield Resource.UPLOADS, Import.objects.filter(uploaded_at__gte=since), Count("pk")
    yield Resource.JOBS, Job.objects.filter(created_at__gte=since).exclude(kind=data_exports.KIND), Count("pk")
    today = Broadcast.objects.filter(counted_on=since.date())
    yield Resource.BROADCASTS, today, Sum("counted")
    yield Resource.STORAGE, Job.objects.exclude(result=""), Sum("result_bytes")
    yield Resource.STORAGE, Import.objects.exclude(file=""), Sum("file_bytes")
    yield Resource.STORAGE, StagedUpload.objects.all(), Sum("file_bytes")
    yield Resource.STORAGE, Picture.objects.all(), Sum(Length(F("content")) + Length(F("small")))


def by_brand(rows: "QuerySet[Any]", resource: str, figure: Sum | Count) -> "QuerySet[Any]":
    summed = Coalesce(figure, 0, output_field=BigIntegerField())
    grouped = rows.order_by().values("brand").annotate(resource=Value(str(resource), TextField()), figure=summed)
    figures: QuerySet[Any] = grouped.values_list("brand", "resource", "figure")
    return figures
