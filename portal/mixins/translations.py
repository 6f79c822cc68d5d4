"""Pages of rows whose texts a brand translates: a field for each text and language, in a separate section."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from django import forms
from django.db.models import Model
from django.http import HttpRequest
from django.utils.text import capfirst, format_lazy
from django.utils.translation import get_language_info
from django.utils.translation import gettext_lazy as _

from core.translations import NAMES, TRANSLATION_LANGUAGES, TranslationsField
from portal.base.stale_forms import VersionedForm, version_of
from portal.base.tenant_admin import TenantAdmin, TenantInline
from portal.unfold import ModelForm, TextareaWidget, TextWidget, display

COLUMN = "translations"


def names_of(model: type[Model]) -> list[tuple[str, str, str]]:
    """For each text, its form field, its field and its language."""
    column = cast("TranslationsField", model._meta.get_field(COLUMN))
    return [(f"{name}_{language}", name, language) for language in TRANSLATION_LANGUAGES for name in column.of]


class TranslationsForm(ModelForm):
    """Adds the translations of a row to its form; an empty one means the base text."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field, name, language in names_of(self._meta.model):
            self.initial.setdefault(field, self.instance.translations.get(language, {}).get(name, ""))
        if isinstance(self, VersionedForm) and self.instance.pk:
            self.version = {**self.version, **version_of(self.instance, [COLUMN])}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        result: dict[str, dict[str, str]] = {}
        for field, name, language in names_of(self._meta.model):
            if field not in self.fields:
                return cleaned
            if text := cleaned.get(field):
                result.setdefault(language, {})[name] = text
        cleaned[COLUMN] = self.instance.translations = result
        return cleaned

    @cached_property
    def changed_data(self) -> list[str]:
        """The column instead of its form fields: history and conflicts refer to columns."""
        texts = {field for field, _name, _language in names_of(self._meta.model)}
        result: list[str] = super().changed_data
        columns = [name for name in result if name not in texts]
        return columns if len(columns) == len(result) else [*columns, COLUMN]


def translated_form(form: type[Any], model: type[Model]) -> type[Any]:
    """The form with a field for each text in each other language."""
    fields = {field: text_field(model, name, language) for field, name, language in names_of(model)}
    metaclass: Any = type(form)
    made: type[Any] = metaclass(f"Translated{form.__name__}", (TranslationsForm, form), fields)
    return made


def text_field(model: type[Model], name: str, language: str) -> forms.CharField:
    field: Any = model._meta.get_field(name)
    is_long = field.get_internal_type() == "TextField"
    attributes = {"lang": language, "dir": "rtl" if get_language_info(language)["bidi"] else "ltr"}
    return forms.CharField(
        # The field is created once, but read in every language.
        label=format_lazy("{} ({})", capfirst(field.verbose_name), NAMES[language]),
        required=False,
        max_length=field.max_length,
        widget=(TextareaWidget if is_long else TextWidget)(attrs=attributes),
    )


class TranslationsAdmin(TenantAdmin):
    """A page with the section. Users who may not change the row see the texts on one line."""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        may = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        fields: Sequence[Any] = ("translations_now",)
        if may:
            rows: dict[str, list[str]] = {}
            for field, name, _language in names_of(self.model):
                rows.setdefault(name, []).append(field)
            fields = [tuple(each) for each in rows.values()]
        description = _(
            "Customers who use one of these languages see the text in that language. If that text is empty, they "
            "see the text above."
        )
        section = {"fields": tuple(fields), "classes": ("collapse",), "description": description if may else ""}
        return [*super().get_fieldsets(request, obj), (_("German / Arabic"), section)]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [*super().get_readonly_fields(request, obj), "translations_now"]

    @display(description=_("texts in other languages"))
    def translations_now(self, obj: Any) -> str:
        column = cast("TranslationsField", self.model._meta.get_field(COLUMN))
        return column.as_text(obj.translations) or "—" if obj else "—"


class TranslationsInline(TenantInline):
    """An inline table with a column for each text, for users who may change it."""

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = list(super().get_fields(request, obj))
        may = self.has_change_permission(request, obj) or self.has_add_permission(request, obj)
        return [*fields, *(field for field, _name, _language in names_of(self.model))] if may else fields
