"""The notice of a recall that shops put up: one A4 page in a customer's language. The reason is not on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone, translation

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.printing.documents import day_of, direction, pdf
from brands.models.tenants import Brand
from core.translations import text_of
from loyalty.models.notifications import Language
from loyalty.notifications import catalogue, delivery

TEMPLATE = "authcodes/documents/recall_poster.html"
MAX_ROWS = 12  # that a page has room for
MAX_PRODUCTS = 12


@dataclass(frozen=True, slots=True)
class PosterRow:
    """Recalled codes, from the first to the last one."""

    batch: BatchRange
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Poster:
    """What is to be on it. `recall` need not be stored."""

    brand: Brand
    recall: Recall
    rows: Sequence[PosterRow]
    products: Sequence[Product]


def of_recall(recall: Recall) -> Poster:
    """Reads the codes of batches that are of no product."""
    rows = [
        PosterRow(batch, batch.recalled_from or batch.first_code, batch.recalled_to or batch.last_code)
        for batch in recall.batches.select_related("brand", "product").order_by("pk")
    ]
    return Poster(recall.brand, recall, rows, products_of(rows))


def language_of(brand_id: int, requested: str = "") -> str:
    """The one that somebody asks for, else the brand's own."""
    return requested if requested in Language.values else delivery.settings_of(brand_id).language


def as_pdf(poster: Poster, language: str) -> bytes:
    """Raises LibrariesMissing."""
    with translation.override(language):
        return pdf(TEMPLATE, context_of(poster, language))


def as_html(poster: Poster, language: str) -> str:
    """The same page for a browser, in its own fonts."""
    with translation.override(language):
        return render_to_string(TEMPLATE, {**context_of(poster, language), "on_screen": True})


def context_of(poster: Poster, language: str) -> dict[str, Any]:
    recall, brand = poster.recall, poster.brand
    return {
        "LANGUAGE_CODE": language,
        "recall": recall,
        "message": (message := text_of(recall.translations, "message", recall.message, language)),
        "brand": brand,
        "products": [
            (text_of(product.translations, "title", product.title, language), product.sku)
            for product in poster.products
        ],
        "rows": poster.rows[:MAX_ROWS],
        "more": len(poster.rows) - MAX_ROWS if len(poster.rows) > MAX_ROWS else 0,
        "recalled": day_of(recall.recalled_at, brand),
        "made": day_of(timezone.now(), brand),
        "dir": {
            "page": catalogue.direction(language),
            "brand": direction(brand.name),
            "message": direction(message),
            "contact": direction(recall.contact),
        },
    }


def products_of(rows: Sequence[PosterRow], *, max_codes: int | None = None) -> list[Product]:
    """Those that the batches are of; of batches without one, those that their codes were given to: all of them, or the
    first `max_codes`.
    """
    unnamed = [row.batch.pk for row in rows if row.batch.product_id is None]
    ids = {row.batch.product_id for row in rows if row.batch.product_id}
    if unnamed:
        codes = AuthCode.objects.filter(batch__in=unnamed).order_by("batch", "pk").values_list("product", flat=True)
        ids |= set(codes[:max_codes] if max_codes else codes.order_by().distinct())
    return list(Product.objects.filter(pk__in=ids - {None}).order_by("title", "pk")[:MAX_PRODUCTS])
