"""The values that a brand can choose from in conditions: its products, categories, tags, batches, levels and so on."""

from collections.abc import Callable, Collection
from typing import Any

from django.db.models import F, Func, Q, TextField, Value

from brands.models.tenants import Brand

MAX_CHOICES = 50  # offered at once


def _products(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.products.filter(Q(title__icontains=query) | Q(sku__icontains=query)) if query else brand.products.all()
    return [(str(row.pk), str(row)) for row in rows.order_by("title", "pk")[:MAX_CHOICES]]


def _categories(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.products.exclude(category="").filter(category__icontains=query)
    names = rows.order_by("category").values_list("category", flat=True).distinct()[:MAX_CHOICES]
    return [(name, name) for name in names]


def _tags(brand: Any, query: str) -> list[tuple[str, str]]:
    texts = Func(F("tags"), Value("\n"), function="array_to_string", output_field=TextField())
    products = brand.products.order_by().annotate(texts=texts).filter(texts__icontains=query)
    rows = products.annotate(tag=Func(F("tags"), function="unnest")).values_list("tag", flat=True)
    names = sorted({name for name in rows.distinct()[: 10 * MAX_CHOICES] if query.casefold() in name.casefold()})
    return [(name, name) for name in names[:MAX_CHOICES]]


def _batches(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.batches.filter(range_name__icontains=query).order_by("-pk")
    return [(str(row.pk), str(row)) for row in rows[:MAX_CHOICES]]


def _campaigns(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.campaigns.filter(campaign_name__icontains=query).order_by("-pk")
    return [(str(row.pk), str(row)) for row in rows[:MAX_CHOICES]]


def _levels(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.levels.filter(name__icontains=query).order_by("threshold").values_list("name", flat=True)
    return [(name, name) for name in rows[:MAX_CHOICES]]


def _segments(brand: Any, query: str) -> list[tuple[str, str]]:
    rows = brand.segments.filter(name__icontains=query).order_by("name")
    return [(str(row.pk), str(row)) for row in rows[:MAX_CHOICES]]


# By the name that fields use. Products and batches belong to a higher app and are reached through the brand.
CHOICES: dict[str, Callable[[Brand, str], list[tuple[str, str]]]] = {
    "products": _products,
    "categories": _categories,
    "tags": _tags,
    "batches": _batches,
    "campaigns": _campaigns,
    "levels": _levels,
    "segments": _segments,
}
OF_ROWS = {"products", "batches", "campaigns", "segments"}


def options(brand: Brand, name: str, query: str = "") -> list[tuple[str, str]]:
    """Values and labels of the choices that contain the query."""
    return CHOICES[name](brand, query)


def labels_of(brand: Brand, name: str, ids: Collection[int]) -> dict[int, str]:
    """Labels of the brand's rows with these IDs; without deleted rows and those of other brands."""
    of_brand: Any = brand
    return {row.pk: str(row) for row in getattr(of_brand, name).filter(pk__in=ids)} if name in OF_ROWS else {}
