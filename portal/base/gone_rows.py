"""Handles rows that do not exist: wrong ids in a list's selection, and rows that a colleague deleted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.db.outages import sqlstate_of
from core.errors import Invalid
from portal.base.audit_mixin import AuditLogAdminMixin
from portal.lists.changelist import is_beyond_every_column
from portal.unfold import InlineFormSet

MAX_ROWS = 200  # of a table inside a form; more could not be submitted, with 1000 fields at most
FOREIGN_KEY_VIOLATION, UNIQUE_VIOLATION = "23503", "23505"


class ConcurrentChange(Invalid):
    """A colleague changed the row first."""

    default_message = gettext_lazy("A colleague has changed this at the same time. Nothing was saved. Try again.")


class GoneRowsMixin(AuditLogAdminMixin):
    """Rejects ids of rows that do not exist, and conflicts with concurrent changes, with a clear message."""

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *where: Any) -> HttpResponse | None:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        try:
            if selected and not request.POST.get("select_across", "0").strip("0"):
                self.check_selection(queryset, selected)
            with conflict_text():
                return super().response_action(request, queryset, *where)
        except ConcurrentChange as conflict:
            self.message_user(request, conflict.message, messages.ERROR)
            return redirect(request.get_full_path())

    def check_selection(self, queryset: QuerySet[Any], selected: Sequence[str]) -> None:
        """Raises ConcurrentChange unless all values can be ids, and at least one is a row's."""
        if not all(self.is_key(value) for value in selected):
            raise ConcurrentChange(_("Nothing was changed: the selection contains an invalid id. Load the list again."))
        if not queryset.filter(pk__in=selected).exists():
            raise ConcurrentChange(_("Nothing was changed: the selected rows no longer exist."))

    def is_key(self, value: str) -> bool:
        """Whether a row of this model could have this id."""
        if not value.isascii() or is_beyond_every_column(value):
            return False
        try:
            return self.opts.pk.to_python(value) is not None
        except ValidationError:
            return False

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        saved = super().save_form(request, form, change)
        if change and self.row_before(request, form.instance) is None:
            raise RowGone
        return saved


class RowGone(ConcurrentChange):
    default_message = gettext_lazy("A colleague has deleted this at the same time. Nothing was saved.")


class BoundedTable(InlineFormSet):
    """A table inside a form. Rows that are counted but not sent are rejected instead of looked up."""

    def _construct_form(self, place: int, **options: Any) -> Any:
        try:
            return super()._construct_form(place, **options)  # type: ignore[misc] # missing in the stubs
        except IndexError as error:
            raise ConcurrentChange from error


@contextmanager
def conflict_text() -> Iterator[None]:
    """Raises ConcurrentChange for a constraint violated by another transaction. Use outside the own transaction."""
    try:
        yield
    except IntegrityError as error:
        state = sqlstate_of(error)
        if state == FOREIGN_KEY_VIOLATION:
            message = _("Something that this refers to was deleted at the same time. Nothing was saved.")
            raise ConcurrentChange(message) from error
        if state == UNIQUE_VIOLATION:
            raise ConcurrentChange from error
        raise
