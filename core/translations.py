"""A brand's translations, next to a row's own texts: `{"de": {"name": "Becher"}}`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from core import languages

TRANSLATION_LANGUAGES = [code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
# For staff, whose pages are in English.
NAMES = {"de": _("German"), "ar": _("Arabic")}

if TYPE_CHECKING:
    JSONField = models.JSONField[Any, Any]
else:
    JSONField = models.JSONField


class TranslationsField(JSONField):
    """The texts of a row's fields `of`, by language and field. Each may be as long as its field allows."""

    def __init__(self, *, of: tuple[str, ...] = (), **options: Any) -> None:
        self.of = tuple(of)
        super().__init__(
            **{
                "verbose_name": _("translations"),
                "default": dict,
                "db_default": {},
                "blank": True,
                "editable": False,
                **options,
            }
        )

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        return name, path, args, {**options, "of": self.of}

    def validate(self, value: Any, model_instance: Any) -> None:
        """Raises ValidationError for an unknown language or field, and for a value that is not text or too long."""
        super().validate(value, model_instance)
        if not isinstance(value, dict) or not all(isinstance(texts, dict) for texts in value.values()):
            raise ValidationError(_("Write texts by language and field."))
        for language, texts in value.items():
            if language not in TRANSLATION_LANGUAGES:
                raise ValidationError(_("%(language)s is not a supported language."), params={"language": language})
            for name, text in texts.items():
                self._check(name, text)

    def _check(self, name: str, text: Any) -> None:
        if name not in self.of:
            raise ValidationError(_("%(name)s has no translations."), params={"name": name})
        longest = self.model._meta.get_field(name).max_length or 0  # type: ignore[union-attr]
        if not isinstance(text, str) or not text or len(text) > longest:
            message = _("%(name)s takes a text of at most %(most)d characters.")
            raise ValidationError(message, params={"name": name, "most": longest})

    def as_text(self, value: Any) -> str:
        """For the audit log: all texts on one line."""
        result = value if isinstance(value, dict) else {}
        return "; ".join(
            f"{name} ({language}): {text}"
            for language in sorted(result)
            for name, text in sorted(result[language].items())
        )


def text_of(translations: Mapping[str, Mapping[str, str]] | None, name: str, base: str, language: str) -> str:
    """The text of a field in a language; the base text if the brand has no translation."""
    return (translations or {}).get(language, {}).get(name) or base


def in_language(row: Any, name: str) -> str:
    """A text of a row with `translations`, in the language of the answer."""
    base: str = getattr(row, name)
    return text_of(row.translations, name, base, languages.decide()) if row.translations else base


class TranslatedField(serializers.CharField):
    """A brand's own text in the language of the answer. Its source is a field of a row with `translations`."""

    def get_attribute(self, instance: Any) -> str | None:
        row = instance
        for part in self.source_attrs[:-1]:
            row = getattr(row, part)
        return None if row is None else in_language(row, self.source_attrs[-1])
