"""Portal pages that record their changes in the audit log, and show it as each row's history."""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange, Changes
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from core import languages
from portal.base.page_views import PageViews
from portal.lists import local_time

ENTRIES_PER_PAGE = 50
# The attribute of the request with the rows as they were before the action, until the action has reported.
ROWS_BEFORE = "_rows_before_the_action"


def audit_context(request: HttpRequest, reason: str = "") -> AuditContext:
    """The user, the time and the request of a change."""
    user = request.user if isinstance(request.user, User) else None
    return AuditContext(user, timezone.now(), getattr(request, "request_id", ""), reason)


class AuditLogAdminMixin(PageViews):
    """Every save, deletion and action of the page records an entry, in the transaction that changes the row."""

    def brand_id_of(self, obj: Any) -> int | None:
        """The id of the brand that the row belongs to; None for a row of no brand."""
        raise NotImplementedError

    def audited_brands(self, obj: Any) -> Sequence[int | None]:
        """The brands whose audit log records a change of `obj`."""
        return [self.brand_id_of(obj)]

    def record_action(self, request: HttpRequest, rows: Iterable[Any], action: Any, *, reason: str = "") -> None:
        """Record what was done to rows, with their old and new values if `remember` was called before."""
        rows = list(rows)
        before = {row.pk: old for row in rows if (old := self.row_before(request, row)) is not None}
        after = self.rows_now(list(before))
        entries = (
            AuditedChange(row, brand, audit_log.changes(before[row.pk], after[row.pk]) if row.pk in after else {})
            for row in rows
            for brand in self.audited_brands(row)
        )
        audit_log.record(audit_context=audit_context(request, reason), action=action, rows=entries)

    def remember(self, request: HttpRequest, rows: Iterable[Any]) -> None:
        """Copy rows before an action changes them, for `record_action`. Replaces the copies made before."""
        setattr(request, ROWS_BEFORE, {row.pk: copy.copy(row) for row in rows})

    def row_before(self, request: HttpRequest, obj: Any) -> Any:
        """The row as it was when `remember` was called; None if it was not remembered, or did not exist."""
        row = getattr(request, ROWS_BEFORE, {}).get(obj.pk)
        return row if isinstance(row, self.model) else None  # rows of another model may have the same ids

    def rows_now(self, keys: Sequence[Any]) -> dict[Any, Any]:
        return self.model._base_manager.in_bulk(keys) if keys else {}

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *where: Any) -> HttpResponse | None:
        """An action and its entries are stored together, or not at all."""
        with transaction.atomic():
            return super().response_action(request, queryset, *where)

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        """Lock the row, so that the recorded state before is the one that the form changes."""
        if change:
            rows = self.model._base_manager.select_for_update(no_key=True)
            self.remember(request, rows.filter(pk=form.instance.pk))
        return super().save_form(request, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        tables = [(formset, stored_rows(formset)) for formset in formsets]
        super().save_related(request, form, formsets, change)
        obj = form.instance
        if change:
            [now] = self.rows_now([obj.pk]).values()
            result = audit_log.changes(self.row_before(request, obj), now)
            # Changes by scans and workers in the meantime are not this user's.
            changes = {name: values for name, values in result.items() if name in form.changed_data}
        else:
            changes = audit_log.changes(None, obj)
        with languages.in_english():
            changes |= {**self.extra_changes(form), **dict(changes_of_tables(tables))}
        if changes:
            action, reason = audit_log.CHANGED if change else audit_log.ADDED, str(form.cleaned_data.get("reason", ""))
            rows = [AuditedChange(obj, brand, changes) for brand in self.audited_brands(obj)]
            audit_log.record(audit_context=audit_context(request, reason), action=action, rows=rows)

    def extra_changes(self, form: Any) -> Changes:
        """Changes besides those of the row's own fields and of the inline tables."""
        return {}

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        rows = [AuditedChange(obj, brand, audit_log.changes(obj, None)) for brand in self.audited_brands(obj)]
        audit_log.record(audit_context=audit_context(request), action=audit_log.DELETED, rows=rows)
        self.delete_row(obj)

    def delete_row(self, obj: Any) -> None:
        """Delete the row. A page overrides it if other code is the only writer of its rows."""
        obj.delete()

    def log_addition(self, *_what: Any) -> Any:
        """Django's own log is not used: the audit log contains more."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Record a view's own message. Changes by a form are recorded in save_related."""
        if isinstance(message, (str, Promise)):
            self.record_action(request, [obj], message)

    def log_deletions(self, *_what: Any) -> Any:
        """As for additions: delete_model has recorded it."""

    def history_of(self, request: HttpRequest, obj: Any) -> QuerySet[AuditLogEntry]:
        """The entries about the row that the user may see."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        obj = self.get_object(request, unquote(object_id))
        if not self.has_view_or_change_permission(request, obj):
            raise PermissionDenied
        entries = self.history_of(request, obj).select_related("user", "api_key", "brand")
        page = Paginator(entries, ENTRIES_PER_PAGE).get_page(request.GET.get("p"))
        context = {
            "title": _("History: %(row)s") % {"row": obj},
            "module_name": capfirst(str(self.opts.verbose_name_plural)),
            "object": obj,
            "entries": page,
            "entry_rows": [(entry, when(entry), audit_log.changed_fields(entry)) for entry in page],
            **(extra_context or {}),
        }
        return self.render_page(request, "admin/portal/history.html", context)


def when(entry: AuditLogEntry) -> SafeString:
    return local_time.display_moment(entry.at, entry.brand.zone if entry.brand else UTC)


def stored_rows(formset: Any) -> dict[int, Model]:
    """The rows of an inline table that its forms change, as they are in the database. By the identity of the form's
    instance, because one that is deleted loses its key."""
    instances = [form.instance for form in formset.initial_forms if form.has_changed()]
    rows = formset.model._base_manager.in_bulk([instance.pk for instance in instances])
    return {id(instance): rows[instance.pk] for instance in instances if instance.pk in rows}


def changes_of_tables(tables: Iterable[tuple[Any, Mapping[int, Model]]]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The changes of the inline tables in a form, after they are saved: each formset with its rows before."""
    for formset, before in tables:
        title = formset.model._meta.verbose_name
        rows: list[tuple[Model, dict[str, tuple[Any, Any]]]] = [
            *((row, audit_log.changes(None, row)) for row in formset.new_objects),
            *((row, audit_log.changes(before.get(id(row)), row)) for row, _names in formset.changed_objects),
            *((row, audit_log.changes(before.get(id(row), row), None)) for row in formset.deleted_objects),
        ]
        names = Counter(str(row) for row, _changes in rows)
        for number, (row, changes) in enumerate(rows, 1):
            place = f"{title} {row}" if names[str(row)] == 1 else f"{title} {row} ({number})"
            yield from ((f"{place}: {name}", values) for name, values in changes.items())
