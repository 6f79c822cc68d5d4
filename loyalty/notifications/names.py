"""What levels, campaigns, rewards and products are called in the language of a message, where the brand wrote it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from core.translations import text_of
from loyalty.models.levels import BrandLevel
from loyalty.notifications import ledger_notes

LEVELS = ("level_name", "current_level", "level_before")
# Of the brand's rows that the values name, what they are called in the language, by the name of the value.
Translate = Callable[[int, Mapping[str, Any], str], Mapping[str, str]]


def in_language(values: Mapping[str, Any], *, brand_id: int, language: str) -> dict[str, Any]:
    """The values of a message with its names in the language; a name that has no translation stays as it is."""
    if language == settings.LANGUAGE_CODE:
        return dict(values)
    result = {name: level_in(values[name], brand_id, language) for name in LEVELS if values.get(name)}
    if values.get("note"):
        result["note"] = ledger_notes.text_in(str(values["note"]), language)
    for path in settings.TRANSLATED_NAMES:
        result |= translate(path)(brand_id, values, language)
    return {**values, **result}


def level_in(name: str, brand_id: int, language: str) -> str:
    """A level is found by its name, which its members have."""
    texts = BrandLevel.objects.filter(brand_id=brand_id, name=name).values_list("translations", flat=True).first()
    return text_of(texts, "name", name, language)


@cache
def translate(path: str) -> Translate:
    function: Translate = import_string(path)
    return function
