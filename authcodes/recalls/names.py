"""What a recalled product is called in other languages."""

from collections.abc import Mapping
from typing import Any

from authcodes.models.batches import Recall
from core.translations import text_of


def in_language(brand_id: int, values: Mapping[str, Any], language: str) -> dict[str, str]:
    """The `product_name` of a message about a recall. settings.TRANSLATED_NAMES names it."""
    if "recall_id" not in values:
        return {}
    recalls = Recall.objects.select_related("batch__product").filter(batch__brand_id=brand_id)
    recall = recalls.filter(recall_id=values["recall_id"], batch__product__title=values.get("product_name")).first()
    product = recall.batch.product if recall else None
    return {"product_name": text_of(product.translations, "title", product.title, language)} if product else {}
