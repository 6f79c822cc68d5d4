"""The poster of a recall for shops: one A4 page in a language of customers. The reason is not on it."""

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
# One A4 page has room for these: more batches are counted, more lines run on, a longer message is in smaller type.
MAX_BATCH_ROWS = 12
MAX_MESSAGE_LINES = 40
MAX_LARGE_TYPE_CHARACTERS = 800
MAX_CACHED_PDFS = 24  # of a process: each is a few hundred kilobytes


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
    rows = [
        PosterRow(batch, batch.recalled_from or batch.first_code, batch.recalled_to or batch.last_code)
        for batch in recall.batches.select_related("brand", "product").order_by("pk")
    ]
    return Poster(recall.brand, recall, rows, products_of(rows))


def language_of(brand_id: int, requested: str = "") -> str:
    """The one that somebody asks for, else the brand's own."""
    return requested if requested in Language.values else delivery.settings_of(brand_id).language


def as_pdf(poster: Poster, language: str) -> bytes:
    """Raises LibrariesMissing, and RateLimited where a brand has too many made. One made just now is there already."""
    with translation.override(language):
        text = typeset(TEMPLATE, context_of(poster, language))
    return cached_pdf(poster.brand.pk, text)  # which may be refused, in the language of whoever asks


@lru_cache(maxsize=MAX_CACHED_PDFS)
def cached_pdf(brand_id: int, text: str) -> bytes:
    """Drawing keeps a processor busy, which all brands share."""
    rate_limits.hit("document", brand_id)
    return drawn(text)


def as_html(poster: Poster, language: str) -> str:
    """The same page for a browser, in its own fonts."""
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
    """All its words in few lines: one blank line at a time, and what follows MAX_MESSAGE_LINES lines runs on."""
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for before, line in zip(["", *lines], lines, strict=False) if line or before]
    remaining = " ".join(line for line in lines[MAX_MESSAGE_LINES - 1 :] if line)
    return "\n".join([*lines[: MAX_MESSAGE_LINES - 1], remaining]).strip()


def products_of(rows: Sequence[PosterRow]) -> list[Product]:
    """Those that the batches are of; of batches without one, those that their codes were given to."""
    unnamed = [row.batch.pk for row in rows if row.batch.product_id is None]
    ids = {row.batch.product_id for row in rows if row.batch.product_id} | batch_products.products_in(unnamed)
    return list(Product.objects.filter(pk__in=ids).order_by("title", "pk")[: batch_products.MAX_PRODUCTS])
