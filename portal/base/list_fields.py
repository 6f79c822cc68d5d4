"""A form field for several short values, one per line."""

from typing import Any

from django import forms

from portal.unfold import TextareaWidget


class LinesField(forms.CharField):
    """Values separated by lines, spaces or commas; cleaned, a list without duplicates. What `read` returns is kept."""

    widget = TextareaWidget

    def read(self, word: str) -> str:
        """Raises ValidationError."""
        return word

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        terms = str(super().clean(value)).replace(",", " ").split()
        return list(dict.fromkeys(map(self.read, terms)))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed(self.prepare_value(initial), data))
