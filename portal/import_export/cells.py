"""Columns of a resource: how a value is written into a cell, and read from one by the rules of the portal's forms."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db.models import BinaryField, BooleanField, FileField, ForeignKey, Model
from django.utils import timezone
from django.utils.translation import gettext as _
from import_export.fields import Field
from import_export.widgets import Widget

from brands import audit_log
from core.encryption import EncryptedTextField
from core.forms.digits import NUMERIC, has_other_digits
from core.forms.moments import ENDS, WHOLE_DAY

YES, NO = "yes", "no"
BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
UNEXPORTABLE = (EncryptedTextField, BinaryField, FileField)
_DAY_ALONE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}$")


class Cell(Widget):  # type: ignore[misc] # the library has no types
    """A value as a form field accepts it."""

    def __init__(self, form_field: forms.Field, *, is_end: bool = False) -> None:
        super().__init__()
        self._form_field = form_field
        self._is_end = is_end

    def clean(self, value: str, row: Any = None, **_more: Any) -> Any:
        """Raises ValidationError."""
        separated = "_" in value and isinstance(self._form_field, forms.IntegerField)  # Python reads 1_000 as 1000
        if separated or (isinstance(self._form_field, NUMERIC) and has_other_digits(value)):
            raise ValidationError(_("Use the digits 0 to 9."), "digits")
        if isinstance(self._form_field, forms.DateTimeField) and _DAY_ALONE.match(value.strip()):
            value = f"{value.strip()} {WHOLE_DAY[self._is_end]}"
        return self._form_field.clean(value)

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:
        return rendered(value)


class BooleanCell(Widget):  # type: ignore[misc] # the library has no types
    """Yes or no."""

    def clean(self, value: str, row: Any = None, **_more: Any) -> bool:
        """Raises ValidationError."""
        try:
            return BOOLEANS[value.strip().lower()]
        except KeyError:
            raise ValidationError(_("Enter yes or no."), "invalid") from None

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:
        return rendered(value)


class ReferenceCell(Widget):  # type: ignore[misc] # the library has no types
    """A row of the same brand, by its name. The resource looks up all names of a file at once."""

    def __init__(self, name: str, *, required: bool) -> None:
        super().__init__()
        self.name = name
        self._required = required

    def clean(self, value: str, row: Any = None, *, references: Any = None, **_more: Any) -> Model | None:
        """Raises ValidationError."""
        typed = value.strip()
        if not typed:
            if self._required:
                raise ValidationError(_("This field is required."), "required")
            return None
        result: Model | None = (references or {}).get(self, {}).get(typed)
        if result is None:
            raise ValidationError(_("There is no “%(name)s” in this brand."), "unknown", {"name": typed[:80]})
        return result

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:
        return "" if value is None else rendered(getattr(value, self.name))


def rendered(value: Any) -> str:
    """A value as text in a file, the same for equal values: plain decimals, moments in the current zone."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, datetime):
        return timezone.localtime(value).isoformat()
    return str(value).replace("\r\n", "\n").replace("\r", "\n")


class Column(Field):  # type: ignore[misc] # the library has no types
    """A column with its `example` in the template and the `note` that describes it; by default named as declared."""

    def __init__(
        self,
        example: str = "",
        note: Any = "",
        *,
        attribute: str = "",
        column_name: str = "",
        widget: Widget | None = None,
    ) -> None:
        super().__init__(attribute or None, column_name, widget)
        self.example, self.note = example, note


def column(
    model: type[Model], name: str, example: str = "", note: Any = "", *, column_name: str = "", reference: str = ""
) -> Column:
    """The column for a field of `model`, by default with its name; `reference` names a related row.

    `example` is its cell in the template, and `note` describes it.

    Raises ImproperlyConfigured for fields that must not be in a file: secrets, files and the brand.
    """
    field: Any = model._meta.get_field(name)
    if name == "brand" or name in audit_log.SECRET or isinstance(field, UNEXPORTABLE):
        message = f"{model.__name__}.{name} must not be a column of a file"
        raise ImproperlyConfigured(message)
    if isinstance(field, ForeignKey):
        widget: Widget = ReferenceCell(reference, required=not field.null)
    elif isinstance(field, BooleanField):
        widget = BooleanCell()
    else:
        widget = Cell(field.formfield(), is_end=name in ENDS)
    return Column(example, note, attribute=name, column_name=column_name or name, widget=widget)
