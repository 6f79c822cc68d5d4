"""Forms whose choices belong to the brand of the row."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import mail, moments
from core.errors import DomainError
from core.forms.digits import AsciiDigits
from portal.base.stale_forms import VersionedForm
from portal.unfold import TextareaWidget, TextWidget


class TenantForm(AsciiDigits, VersionedForm):
    """Whatever a form refers to belongs to the brand of its row, also when its author works for several brands."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            if isinstance(field, forms.EmailField):
                field.validators.append(mail.validate_address)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        brand = cleaned.get("brand")
        brand_id = brand.pk if brand else getattr(self.instance, "brand_id", None)
        for name, chosen in list(cleaned.items()):
            if isinstance(chosen, Model) and brand_id and getattr(chosen, "brand_id", brand_id) != brand_id:
                self.add_error(name, _("Choose one of the same brand."))
        return cleaned

    def add_domain_error(self, error: DomainError) -> None:
        add_domain_error(self, error)

    def _update_errors(self, errors: ValidationError) -> None:
        super()._update_errors(at_their_fields(errors, self.fields))  # type: ignore[misc] # missing in the stubs

    def _get_validation_exclusions(self) -> set[str]:
        """A row stays with its brand, but what must be unique there may change: else only the database would object."""
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc] # missing in the stubs
        return excluded - {"brand"} if self.instance.pk else excluded


class DomainErrorForm(AsciiDigits, forms.Form):
    """A form of no single row that shows a rule's error at the field that it is about."""

    def add_domain_error(self, error: DomainError) -> None:
        add_domain_error(self, error)


def add_domain_error(form: forms.BaseForm, error: DomainError) -> None:
    """Add a domain error to the form, at the field that it names, or above the form where that has no such field."""
    field = error.details.get("field")
    form.add_error(field if field in form.fields else None, error.message)


def at_their_fields(errors: ValidationError, fields: Collection[str]) -> ValidationError:
    """What must be unique in a brand is said where somebody can type something else, not above the form."""
    if not hasattr(errors, "error_dict"):
        return errors
    result: dict[str, list[ValidationError]] = defaultdict(list)
    for place, field_errors in errors.error_dict.items():
        for error in field_errors:
            checked = (error.params or {}).get("unique_check", ()) if place == NON_FIELD_ERRORS else ()
            own = [name for name in checked if name != "brand" and name in fields]
            result[own[0] if len(own) == 1 else place].append(error)
    return ValidationError(dict(result))


class DayField(forms.DateField):
    """A day, in the browser's own calendar."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": gettext_lazy("Enter the date as YYYY-MM-DD, such as 2026-12-31.")
    }

    def __init__(self, **options: Any) -> None:
        calendar = TextWidget(attrs={"type": "date"})
        super().__init__(widget=calendar, input_formats=["%Y-%m-%d"], validators=[moments.check], **options)


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


class Lookup(AutocompleteSelect):
    """A choice looked up while it is typed. What no row's id can be chooses nothing; Django's own fails of it."""

    def optgroups(self, name: str, value: Sequence[str], attr: dict[str, Any] | None = None) -> Any:
        try:
            return super().optgroups(name, value, attr)
        except (ValueError, OverflowError):
            return super().optgroups(name, [], attr)
