"""Translated values of messages about a recall: the product's name, and what customers should do."""

from collections.abc import Mapping
from typing import Any

from authcodes.models.products import Product
from core.translations import text_of


def in_language(brand_id: int, values: Mapping[str, Any], language: str) -> dict[str, str]:
    """The `product_name` and `message` of a message about a recall. Called through settings.TRANSLATED_NAMES.

    The names of several products are not translated.
    """
    if "recall_id" not in values:
        return {}
    message = (values.get("messages") or {}).get(language)
    values_in_language = {"message": message} if message else {}
    recalled = Product.objects.filter(brand=brand_id, title=values.get("product_name"))
    product = recalled.exclude(translations={}).order_by("pk").first()
    if product is not None:
        values_in_language["product_name"] = text_of(product.translations, "title", product.title, language)
    return values_in_language
