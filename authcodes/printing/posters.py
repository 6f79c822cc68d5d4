"""The poster of a recall for shops: one A4 page in a customer language. It does not contain the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone, translation

from authcodes.codes import batch_products
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.products import Product
from authcodes.printing.documents import day_of, direction, drawn, typeset
from brands.models.tenants import Brand
from core.redis import rate_limits
from core.translations import text_of
from loyalty.models.notifications import Language
from loyalty.notifications import catalogue, delivery

TEMPLATE = "authcodes/documents/recall_poster.html"
# Limits of one A4 page: further batches are counted, further lines are joined, and a longer message is set smaller.
MAX_BATCH_ROWS = 12
MAX_MESSAGE_LINES = 40
MAX_LARGE_TYPE_CHARACTERS = 800
MAX_CACHED_PDFS = 24  # in each process: a few hundred kilobytes each


@dataclass(frozen=True, slots=True)
class PosterRow:
    """A range of recalled codes."""

    batch: BatchRange
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Poster:
    """The content of a poster. `recall` need not be stored."""

    brand: Brand
    recall: Recall
    rows: Sequence[PosterRow]
    products: Sequence[Product]


def of_recall(recall: Recall) -> Poster:
    rows = [
        PosterRow(batch, batch.recalled_from or batch.first_code, batch.recalled_to or batch.last_code)
        for batch in recall.batches.select_related("brand", "product").order_by("pk")
    ]
    return Poster(recall.brand, recall, rows, products_of(rows))


def language_of(brand_id: int, requested: str = "") -> str:
    """The requested language, else the brand's own."""
    return requested if requested in Language.values else delivery.settings_of(brand_id).language


def as_pdf(poster: Poster, language: str) -> bytes:
    """Raises LibrariesMissing, and RateLimited if a brand requests too many. A recent one comes from the cache."""
    with translation.override(language):
        text = typeset(TEMPLATE, context_of(poster, language))
    return cached_pdf(poster.brand.pk, text)  # may raise RateLimited, in the language of the user


@lru_cache(maxsize=MAX_CACHED_PDFS)
def cached_pdf(brand_id: int, text: str) -> bytes:
    """Rate-limited, because drawing keeps a processor busy that all brands share."""
    rate_limits.hit("document", brand_id)
    return drawn(text)


def as_html(poster: Poster, language: str) -> str:
    """The same page for a browser, with the browser's fonts."""
    with translation.override(language):
        return render_to_string(TEMPLATE, {**context_of(poster, language), "on_screen": True})


def context_of(poster: Poster, language: str) -> dict[str, Any]:
    recall, brand = poster.recall, poster.brand
    return {
        "LANGUAGE_CODE": language,
        "recall": recall,
        "message": (message := set_lines(text_of(recall.translations, "message", recall.message, language))),
        "is_long": len(message) > MAX_LARGE_TYPE_CHARACTERS,
        "brand": brand,
        "products": [
            (text_of(product.translations, "title", product.title, language), product.sku)
            for product in poster.products
        ],
        "rows": poster.rows[:MAX_BATCH_ROWS],
        "more": max(0, len(poster.rows) - MAX_BATCH_ROWS),
        "recalled": day_of(recall.recalled_at, brand),
        "made": day_of(timezone.now(), brand),
        "dir": {
            "page": catalogue.direction(language),
            "brand": direction(brand.name),
            "message": direction(message),
            "contact": direction(recall.contact),
        },
    }


def set_lines(text: str) -> str:
    """All words in few lines: single blank lines only, and everything after MAX_MESSAGE_LINES lines is joined."""
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for before, line in zip(["", *lines], lines, strict=False) if line or before]
    remaining = " ".join(line for line in lines[MAX_MESSAGE_LINES - 1 :] if line)
    return "\n".join([*lines[: MAX_MESSAGE_LINES - 1], remaining]).strip()


def products_of(rows: Sequence[PosterRow]) -> list[Product]:
    """The products of the batches; for batches without one, the products of their codes."""
    unnamed = [row.batch.pk for row in rows if row.batch.product_id is None]
    ids = {row.batch.product_id for row in rows if row.batch.product_id} | batch_products.products_in(unnamed)
    return list(Product.objects.filter(pk__in=ids).order_by("title", "pk")[: batch_products.MAX_PRODUCTS])
