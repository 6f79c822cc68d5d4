"""What a message about a recall says in other languages: the product's name, and what customers should do."""

from collections.abc import Mapping
from typing import Any

from authcodes.models.products import Product
from core.translations import text_of


def in_language(brand_id: int, values: Mapping[str, Any], language: str) -> dict[str, str]:
    """The `product_name` and `message` of a message about a recall. settings.TRANSLATED_NAMES names it.

    Where a recall has several products, their names stand there as they are.
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
