"""Change forms that were open for a long time: they do not silently overwrite what another user saved since.

A change form carries a keyed hash of each of its row's values. When it is submitted, they are compared with the row.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, Field, FileField, ForeignKey, Model
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from brands import audit_log
from brands.models.audit import AuditLogEntry
from core.encryption import EncryptedTextField
from core.errors import Invalid
from portal.unfold import ModelForm

NAME = "row_version"
MAX_LENGTH = 20_000
MAX_VALUE_LENGTH = 200
ENTRIES = 50  # of the row's history, searched for the last change of a field

Version = Mapping[str, str]  # for each field the hash of its value


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that two users changed. `use`: the saved value in the form of the field's input; None if pages do not
    show the value, or if the field has several inputs."""

    label: str
    typed: str
    saved: str
    field: str
    use: str | None


class VersionedForm(ModelForm):
    """The form of a row, which does not overwrite what another user changed while it was open."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.version = version_of(self.instance, self.fields) if self.instance.pk else {}
        self.conflicts: list[FieldConflict] = []  # of a rejected form, for its page

    @property
    def row_version(self) -> str:
        """The version in the page; empty for a new row."""
        return json.dumps(self.version, separators=(",", ":")) if self.version else ""

    def _clean_form(self) -> None:
        super()._clean_form()  # type: ignore[misc] # missing in the stubs
        sent = read(str(self.data.get(NAME, "")))
        conflicts = [name for name in changed(sent, self.version) if self._conflicts(name, sent[name])]
        if conflicts:
            self.conflicts = [self._conflict(field) for field in columns(self.instance, conflicts)]
            self.add_error(None, change_summary(self.instance, conflicts))

    def _conflicts(self, name: str, opened: str) -> bool:
        """Whether a field conflicts. Not if the form has the row's current value, for example because it was sent
        twice. A field that the user did not change shows the current value; typed values are kept."""
        typed = digest(self.instance, self.cleaned_data[name]) if name in self.cleaned_data else ""
        if typed == opened and name in self.fields:
            self._show_as_it_is(name)
        return typed != self.version[name]

    def _conflict(self, field: "Field[Any, Any]") -> FieldConflict:
        """Both values of a field, as far as pages may show them."""
        # The instance still has the row's saved values: the form's own values are set later.
        saved = value_of(self.instance, field)
        typed, use = "", None
        if saved and field.name in self.fields:
            bound = self[field.name]
            typed = display_of(field, self.cleaned_data.get(field.name, bound.value()))
            if not isinstance(bound.field.widget, forms.MultiWidget):
                value = bound.field.prepare_value(self.initial.get(field.name))
                use = "" if value in audit_log.EMPTY or value is False else str(value)
        return FieldConflict(capfirst(str(field.verbose_name)), typed, saved, field.name, use)

    def _show_as_it_is(self, name: str) -> None:
        field = self[name]
        if isinstance(field.field.widget, forms.MultiWidget | forms.FileInput) or name not in self.initial:
            return
        sent: Any = self.data
        data, value = sent.copy(), field.field.prepare_value(self.initial[name])
        if value in (None, False):
            data.pop(field.html_name, None)
        elif isinstance(value, list | tuple):
            data.setlist(field.html_name, value)
        else:
            data[field.html_name] = value
        self.data = data

    def check_unchanged(self, row: Model) -> None:
        """Detect a concurrent save: both forms found the row unchanged. `row` is locked. Raises Invalid."""
        if version_of(row, self.version) != self.version:
            raise Invalid(_("Someone else saved this at the same moment. Your changes were not saved. Try again."))


def version_of(row: Model, names: Iterable[str]) -> Version:
    """The version of the `names` that are columns of the row."""
    return {each.name: digest(row, each.value_from_object(row)) for each in columns(row, names)}


def digest(row: Model, value: Any) -> str:
    """Keyed, because users who may see the page may not be allowed to know the value."""
    salt = f"{NAME}:{row._meta.label_lower}:{row.pk}"
    return salted_hmac(salt, repr(comparable(value)), algorithm="sha256").hexdigest()[:16]


def comparable(value: Any) -> Any:
    """Equal for equal values from a form and from the database."""
    if isinstance(value, Model):
        return value.pk
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return None if value == "" else value


def columns(row: Model, names: Iterable[str]) -> "list[Field[Any, Any]]":
    result = []
    for name in names:
        try:
            field = row._meta.get_field(name)
        except FieldDoesNotExist:
            continue
        if isinstance(field, Field) and field.concrete and not field.many_to_many:
            result.append(field)
    return result


def read(text: str) -> Version:
    """The version that a browser sent; empty if there is none, or if it is not valid."""
    try:
        data = json.loads(text) if 0 < len(text) <= MAX_LENGTH else {}
    except (ValueError, RecursionError):
        return {}
    known = data.items() if isinstance(data, dict) else ()
    return {name: value for name, value in known if isinstance(value, str)}


def changed(before: Version, now: Version) -> list[str]:
    """The fields whose values have changed. None for a page that sent no version."""
    return [name for name, value in now.items() if before.get(name, value) != value]


def change_summary(row: Model, names: Iterable[str]) -> str:
    """What changed, to what, when and by whom, as far as the history of the user's brands shows it."""
    label = row._meta.label_lower
    entries = (
        AuditLogEntry.objects.filter(kind=label, row_id=str(row.pk)).select_related("user", "api_key").order_by("-id")
    )
    history = list(entries[:ENTRIES])
    changes = [_line(row, field, history) for field in columns(row, names)]
    return _(
        "Someone else changed this after you opened it: %(changes)s. Your "
        "changes were not saved. Check the form and save again."
    ) % {"changes": "; ".join(changes)}


def _line(row: Model, field: "Field[Any, Any]", history: list[AuditLogEntry]) -> str:
    name = capfirst(str(field.verbose_name))
    entry = next((each for each in history if field.name in each.changes), None)
    display = value_of(row, field)
    line = _("%(field)s is now “%(value)s”") % {"field": name, "value": display} if display else name
    if entry is None:
        return line
    at = date_format(timezone.localtime(entry.at), "SHORT_DATETIME_FORMAT")
    return f"{line} ({entry.actor or _('the service')}, {at})"


def value_of(row: Model, field: "Field[Any, Any]") -> str:
    """The saved value as text. Empty for values that pages never show."""
    if isinstance(field, EncryptedTextField | FileField) or field.name in audit_log.SECRET:
        return ""
    if isinstance(field, ForeignKey):
        value: Any = getattr(row, field.name)
    elif isinstance(field, BooleanField):
        return yes_or_no(field.value_from_object(row))
    else:
        value = getattr(row, f"get_{field.name}_display", lambda: field.value_from_object(row))()
    return "—" if value in audit_log.EMPTY else str(value)[:MAX_VALUE_LENGTH]


def display_of(field: "Field[Any, Any]", value: Any) -> str:
    """The typed value, in the form in which `value_of` shows the saved one."""
    if isinstance(field, BooleanField):
        return yes_or_no(value)
    if field.choices and not isinstance(value, Model):
        value = dict(field.flatchoices).get(value, value)
    return "—" if value in audit_log.EMPTY else str(value)[:MAX_VALUE_LENGTH]


def yes_or_no(value: Any) -> str:
    return _("Yes") if value else _("No")
