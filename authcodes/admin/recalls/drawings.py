"""Previews of a recall's poster and scan page, for the page on which its message is written."""

from typing import Any

from django.template.loader import render_to_string
from django.utils import translation

from authcodes.models.batches import Recall
from authcodes.printing import posters
from authcodes.printing.posters import Poster, PosterRow
from authcodes.recalls.scopes import Scope
from brands.tenants import contacts
from core.translations import text_of
from loyalty.models.notifications import Language
from loyalty.notifications import catalogue

SCAN_PAGE = "admin/authcodes/recall/phone.html"


def poster_of(recall: Recall, scope: Scope) -> Poster:
    rows = [PosterRow(part.batch, *part.ends) for part in scope.parts]
    return Poster(scope.brand, recall, rows, posters.products_of(rows))


def drawings(recall: Recall, scope: Scope) -> list[dict[str, Any]]:
    """The poster and the scan page in each language, the brand's own first."""
    brand_language = posters.language_of(scope.brand.pk)
    poster = poster_of(recall, scope)
    return [
        {
            "language": each.value,
            "label": str(each.label),
            "poster": posters.as_html(poster, each.value),
            "phone": scan_page_of(poster, each.value),
        }
        for each in sorted(Language, key=lambda each: each.value != brand_language)
    ]


def scan_page_of(poster: Poster, language: str) -> str:
    """The scan page of a recalled code, of the first product on the poster."""
    recall, product = poster.recall, poster.products[0] if poster.products else None
    name = text_of(product.translations, "title", product.title, language) if product else ""
    message = text_of(recall.translations, "message", recall.message, language)
    recall_context = {"id": recall.recall_id, "contact": recall.contact, "message": message}
    context = {
        "brand": poster.brand,
        "language": language,
        "direction": catalogue.direction(language),
        "scan": {"recall": recall_context, "product": {"name": name} if product else None},
        "contact_link": contacts.link(recall.contact),
    }
    with translation.override(language):
        return render_to_string(SCAN_PAGE, context)
