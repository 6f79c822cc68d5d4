"""Translated names of levels, campaigns, rewards and products in messages, if the brand has translations."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from core.translations import text_of
from loyalty.models.levels import BrandLevel
from loyalty.notifications import ledger_notes

LEVELS = ("level_name", "current_level", "level_before")


def in_language(values: Mapping[str, Any], *, brand_id: int, language: str) -> dict[str, Any]:
    """The values of a message with translated names. A name without a translation stays unchanged."""
    if language == settings.LANGUAGE_CODE:
        return dict(values)
    result = {name: level_in(values[name], brand_id, language) for name in LEVELS if values.get(name)}
    if values.get("note"):
        result["note"] = ledger_notes.text_in(str(values["note"]), language)
    for path in settings.TRANSLATED_NAMES:  # functions of other apps for the names of their rows in the values
        result |= import_string(path)(brand_id, values, language)
    return {**values, **result}


def level_in(name: str, brand_id: int, language: str) -> str:
    """Finds the level by its name, which is what its members' accounts store."""
    texts = BrandLevel.objects.filter(brand_id=brand_id, name=name).values_list("translations", flat=True).first()
    return text_of(texts, "name", name, language)
