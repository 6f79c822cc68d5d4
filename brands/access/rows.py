"""Stores a row from a request: validated by its model, audited, in one transaction."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from core.errors import Invalid, NotFound

R = TypeVar("R", bound=Model)


def create(row: R, *, brand_id: int, audit_context: AuditContext) -> R:
    """Raises Invalid, which names the fields."""
    with transaction.atomic():
        _store(row, force_insert=True)
        changes = audit_log.changes(None, row)
        audit_log.record(
            audit_context=audit_context, action=audit_log.ADDED, rows=[AuditedChange(row, brand_id, changes)]
        )
    return row


def change(
    rows: "QuerySet[R]",
    values: Mapping[str, Any],
    *,
    brand_id: int,
    audit_context: AuditContext,
    check: Callable[[R, R], None] = lambda _before, _after: None,
) -> R:
    """Set `values` on the only row of `rows`, which `check(before, after)` may reject.

    Raises NotFound without a row, and Invalid, which names the fields.
    """
    with transaction.atomic():
        row = rows.select_for_update(no_key=True, of=("self",)).first()
        if row is None:
            raise NotFound
        before = copy(row)
        for name, value in values.items():
            setattr(row, name, value)
        changes = audit_log.changes(before, row)
        if changes:
            check(before, row)
            _store(row, update_fields=list(values))
            audit_log.record(
                audit_context=audit_context, action=audit_log.CHANGED, rows=[AuditedChange(row, brand_id, changes)]
            )
    return row


def _store(row: Model, **how: Any) -> None:
    try:
        row.full_clean()
        with transaction.atomic():
            row.save(**how)
    except ValidationError as error:
        errors = error.message_dict.items()
        fields = {name.replace("__all__", "non_field_errors"): messages for name, messages in errors}
        name, messages = next(iter(fields.items()))
        text = messages[0] if name == "non_field_errors" else f"{name}: {messages[0]}"
        raise Invalid(text, details={"fields": fields}) from error
    except IntegrityError as error:  # another request was faster
        raise Invalid("Another row has this value already. Read the rows again.") from error
