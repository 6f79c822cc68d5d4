"""The audit log: who changed which row, from what to what, and why. The only code that writes AuditLogEntry."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.db.models import BinaryField, Field, ForeignKey, Model, Q, TextField
from django.db.models.fields.files import FieldFile
from django.db.models.functions import Cast
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.user_mentions import Mentions, replace_mentions
from core import languages
from core.db.statements import command
from core.encryption import EncryptedTextField
from core.translations import TranslationsField

# The log records that these secrets changed, never their values. Changes of binary digests are not recorded.
SECRET = frozenset({"password", "current_jti", "previous_jti"})
HIDDEN = "•••"
EMPTY = (None, "")
MAX_VALUE_LENGTH = 2000  # characters of one value

INSERT_ENTRIES = command("brands/sql/insert_audit_entries.sql")

ADDED, CHANGED, DELETED = _("Added"), _("Changed"), _("Deleted")

Changes = Mapping[str, tuple[Any, Any]]  # for each changed field, the value before and after


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Who does something, when, in which request, and why. Without `user` and `key_id` it is the system itself."""

    user: User | None
    at: datetime
    request_id: str = ""
    reason: str = ""
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """A row that something was done to, and its fields' values before and after."""

    row: Model
    brand_id: int | None
    changes: Changes = field(default_factory=dict)


def record(*, audit_context: AuditContext, action: Any, rows: Iterable[AuditedChange]) -> None:
    """Write an entry for each row, in the transaction that changes them. The log is in English, whatever the user's
    language: `action` is lazy, or marked with gettext_noop."""
    with languages.in_english():
        AuditLogEntry.objects.bulk_create(
            AuditLogEntry(
                at=audit_context.at,
                user=audit_context.user,
                api_key_id=audit_context.key_id,
                brand_id=each.brand_id,
                kind=each.row._meta.label_lower,
                row_id=str(each.row.pk),
                row_name=name_of(each.row)[:200],
                action=str(action)[:200],
                changes=each.changes,
                reason=audit_context.reason,
                request_id=audit_context.request_id,
            )
            for each in rows
        )


@dataclass(frozen=True, slots=True)
class NamedChange:
    """One of many rows, by its key and name, with its fields' values before and after in JSON form."""

    row_id: int
    row_name: str
    changes: Changes


def record_many(
    *, audit_context: AuditContext, action: Any, brand_id: int, model: type[Model], rows: Sequence[NamedChange]
) -> None:
    """As `record`, for many rows of one model in one statement."""
    with languages.in_english():
        action = str(action)
    INSERT_ENTRIES.run(
        at=audit_context.at,
        user_id=audit_context.user.pk if audit_context.user else None,
        key_id=audit_context.key_id,
        brand_id=brand_id,
        kind=model._meta.label_lower,
        action=action[:200],
        reason=audit_context.reason,
        request_id=audit_context.request_id,
        row_ids=[str(each.row_id) for each in rows],
        row_names=[each.row_name[:200] for each in rows],
        changes=[json.dumps(each.changes) for each in rows],
    )


def name_of(row: Model) -> str:
    """The row's permanent name in the log. Entries cannot be changed, so a row that is named after a customer has an
    `audit_name` without personal data."""
    return str(getattr(row, "audit_name", row))


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A changed field as text."""

    field: str
    before: str
    after: str


def changed_fields(entry: AuditLogEntry) -> list[ChangedField]:
    """The changes of an entry as readable text."""
    return [
        ChangedField(_name(entry.kind, name), _text(before), _text(after))
        for name, (before, after) in entry.changes.items()
    ]


def _name(kind: str, field: str) -> str:
    """The field's label. The models of old entries may no longer have the field."""
    try:
        return capfirst(str(apps.get_model(kind)._meta.get_field(field).verbose_name))
    except (LookupError, FieldDoesNotExist):
        return capfirst(field)


def _text(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return str(_("Yes") if value else _("No"))
    return ", ".join(map(str, value)) or "—" if isinstance(value, list) else str(value)


def changes(before: Model | None, after: Model | None) -> dict[str, tuple[Any, Any]]:
    """The fields in which two states of a row differ. None means that the row does not exist yet, or no longer."""
    known = after or before
    assert known is not None  # noqa: S101 - a row that never existed did not change
    fields = known._meta.concrete_fields
    stored = [each for each in fields if not isinstance(each, BinaryField)]
    values = [(each, _value(before, each), _value(after, each)) for each in stored]
    with languages.in_english():
        return {
            each.name: (_displayed(before, each, old), _displayed(after, each, new))
            for each, old, new in values
            if old != new and not (old in EMPTY and new in EMPTY)
        }


def _value(row: Model | None, field: "Field[Any, Any]") -> Any:
    return None if row is None else field.value_from_object(row)


def _displayed(row: Model | None, field: "Field[Any, Any]", value: Any) -> Any:
    """A value in JSON form that people can read."""
    if value in EMPTY or row is None:
        return None
    if field.name in SECRET or isinstance(field, EncryptedTextField):
        return HIDDEN
    if isinstance(field, ForeignKey):
        related = getattr(row, field.name, None)
        return f"{related} (#{value})" if related else f"#{value}"
    if isinstance(field, TranslationsField):
        return field.as_text(value)[:MAX_VALUE_LENGTH] or None
    if isinstance(value, FieldFile):
        return value.name
    return value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value


# The trigger only lets these columns change while the transaction declares that it erases a person.
ERASING = "SELECT set_config('audit.erasing', %s, true)"


def erase_user(*, own_rows: Sequence[Model], mentions: Mentions, brand_id: int | None, pseudonym: str) -> int:
    """Replace a person by a pseudonym in a brand's entries, or in all brands' if None. Returns how many were changed.

    Addresses, and both names together, are replaced wherever they occur. A single name, which may be any word, is
    only replaced in entries about `own_rows`. Call inside the transaction that erases.
    """
    entries = AuditLogEntry.objects.all() if brand_id is None else AuditLogEntry.objects.filter(brand_id=brand_id)
    own_ids = {(row._meta.label_lower, str(row.pk)) for row in own_rows}
    named = reduce(or_, (Q(kind=kind, row_id=row_id) for kind, row_id in own_ids))
    for column in ("row_name", "reason", "changes_text"):
        named |= Q(**{f"{column}__iregex": mentions.anywhere_in_sql})
    rows = list(entries.annotate(changes_text=Cast("changes", TextField())).filter(named))
    for entry in rows:
        is_own = (entry.kind, entry.row_id) in own_ids
        mention = mentions.in_their_own_rows if is_own else mentions.anywhere
        entry.row_name = replace_mentions(entry.row_name, mention, pseudonym)[:200]
        entry.reason = replace_mentions(entry.reason, mention, pseudonym)
        entry.changes = replace_mentions(entry.changes, mention, pseudonym)
        if is_own:
            entry.changes = {
                name: [HIDDEN, HIDDEN] if name in {"email", "first_name", "last_name"} else values
                for name, values in entry.changes.items()
            }
    with connection.cursor() as cursor:
        cursor.execute(ERASING, ["on"])
        AuditLogEntry.objects.bulk_update(rows, ["row_name", "reason", "changes"], batch_size=500)
        cursor.execute(ERASING, ["off"])
    return len(rows)
