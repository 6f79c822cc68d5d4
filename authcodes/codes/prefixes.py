"""Prefixes of codes: the only code that reserves, moves and releases them, and reports that one is taken.

Nothing here reveals other brands: taken is taken, whoever has the prefix, and with or without codes.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.codes.numbering import Numbering
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.prefixes import CodePrefix
from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.people import User
from brands.models.tenants import Brand
from core.db import row_guard
from core.db.advisory_locks import LockOfRow, lock_row
from core.errors import RateLimited
from core.redis import rate_limits

# No dot, which separates the tag; no slash, since codes are part of addresses and file names; nothing to escape.
PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}")
PREFIX_IS_TAKEN = "SELECT prefix_is_taken(%s, %s)"
RANGE_IS_TAKEN = "SELECT range_is_taken(%s, %s, %s, %s)"

INVALID_PREFIX = gettext_lazy("A prefix has at most 32 letters, digits, - or _.")
PREFIX_TAKEN = gettext_lazy("This prefix is taken. Choose another one.")
CODES_TAKEN = gettext_lazy("Some of these codes are taken. Change the prefix or the starting number.")

MAX_SUGGESTED = 500

logger = logging.getLogger(__name__)


def lock_prefixes(brand: Brand) -> None:
    """Lock the prefixes and batches of the brand. Call inside a transaction.

    Concurrent transactions could otherwise store overlaps, or exceed the limit.
    """
    lock_row(LockOfRow.PREFIXES, brand.pk)


def reserve(*, brand: Brand, prefix: str, at: datetime, by: User | None = None) -> CodePrefix:
    """The brand's own prefix; reserves it if necessary.

    Raises BatchRejected if another brand's prefix could write the same codes, or if the brand has
    settings.CODE_PREFIXES_PER_BRAND prefixes. That limit does not apply to operators.
    """
    if not PREFIX.fullmatch(prefix):
        raise BatchRejected(str(INVALID_PREFIX), details={"field": "prefix"})
    with transaction.atomic():
        lock_prefixes(brand)
        own = CodePrefix.objects.filter(brand=brand)
        if row := own.filter(prefix=prefix).first():
            return row
        most = settings.CODE_PREFIXES_PER_BRAND
        if own.count() >= most and not (by and by.is_superuser):
            message = _("This brand has reserved the maximum of %(most)d prefixes. Use one of them.")
            raise BatchRejected(message % {"most": most}, details={"field": "prefix"})
        with reject_taken():
            return CodePrefix.objects.create(brand=brand, prefix=prefix, reserved_at=at, reserved_by=by)


def move(*, reserved: CodePrefix, brand: Brand) -> None:
    """Move a prefix to another brand. Batches made with it keep their codes. Raises BatchRejected."""
    with reject_taken():
        CodePrefix.objects.filter(pk=reserved.pk).update(brand=brand)


def release(*, reserved: CodePrefix) -> None:
    """Release a prefix for any brand. Raises BatchRejected while batches use it, since their codes are in print.

    Batches that were made before the prefix was moved belong to the earlier brand.
    """
    with transaction.atomic(), row_guard.disabled("batches of every brand that had the prefix"):
        CodePrefix.objects.select_for_update().filter(pk=reserved.pk).first()
        if BatchRange.objects.filter(prefix=reserved.prefix, printed_elsewhere=False).exists():
            raise BatchRejected(
                _("Batches use this prefix, so it cannot be released. Move it to another brand instead.")
            )
        CodePrefix.objects.filter(pk=reserved.pk).delete()


def is_reserved(*, brand: Brand, prefix: str) -> bool:
    """Whether the prefix is reserved for this brand."""
    return CodePrefix.objects.filter(brand=brand, prefix=prefix).exists()


def of_brands(brands: Sequence[Brand]) -> list[CodePrefix]:
    """The prefixes of these brands, for suggestions in a form."""
    return list(CodePrefix.objects.filter(brand__in=brands).select_related("brand")[:MAX_SUGGESTED])


def check_available(
    *, brand: Brand, prefix: str, audit_context: AuditContext, numbering: Numbering | None = None
) -> None:
    """Check whether the brand may have this prefix and these codes, before they are stored.

    Each check of a prefix that is not the brand's own counts against two limits: `prefix` per user and brand, and
    `prefix_brand` per brand, since owners can create any number of users. Each negative answer is written to the audit
    log. Raises BatchRejected or RateLimited.
    """
    user = audit_context.user
    own = is_reserved(brand=brand, prefix=prefix)
    try:
        if not own:
            count_try(brand=brand, user=user)
        if not own and _answer(PREFIX_IS_TAKEN, brand.pk, prefix):
            raise BatchRejected(str(PREFIX_TAKEN), details={"field": "prefix"})
        if numbering and _answer(RANGE_IS_TAKEN, brand.pk, prefix, numbering.first_code, numbering.last_code):
            if own:
                count_try(brand=brand, user=user)
            raise BatchRejected(str(CODES_TAKEN), details={"field": "starting_number"})
    except RateLimited:
        logger.warning("Too many prefixes were tried: user %s, brand %s", user and user.pk, brand.pk)
        _note(brand, audit_context, gettext_noop("Tried too many code prefixes"), prefix)
        raise
    except BatchRejected:
        _note(brand, audit_context, gettext_noop("Requested codes that are already in use"), prefix)
        raise


def count_try(*, brand: Brand, user: User | None) -> None:
    """Count one attempt to find out what other brands have. Raises RateLimited."""
    if user and not user.is_superuser:
        rate_limits.hit("prefix", user.pk, brand.pk)
        rate_limits.hit("prefix_brand", brand.pk)


def _answer(question: str, *parameters: str | int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(question, parameters)
        result: bool = cursor.fetchone()[0]
        return result


def note_rejected(*, brand: Brand, audit_context: AuditContext, value: str) -> None:
    """Write a request for codes that are already in use into the audit log."""
    _note(brand, audit_context, gettext_noop("Requested codes that are already in use"), value)


def _note(brand: Brand, audit_context: AuditContext, action: str, prefix: str) -> None:
    changes: audit_log.Changes = {"prefix": (None, prefix)}
    audit_log.record(audit_context=audit_context, action=action, rows=[AuditedChange(brand, brand.pk, changes)])


REJECTED: dict[str, tuple[Any, str]] = {
    "batch_codes_taken": (CODES_TAKEN, "starting_number"),
    "code_prefix_taken": (PREFIX_TAKEN, "prefix"),
    "code_prefix_unique": (PREFIX_TAKEN, "prefix"),
    "batch_prefix_reserved": (PREFIX_TAKEN, "prefix"),
}


@contextmanager
def reject_taken() -> Iterator[None]:
    """Turn the database's constraint error, if another brand was faster, into an error at its field."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        name = getattr(getattr(error.__cause__, "diag", None), "constraint_name", "")
        if name not in REJECTED:
            raise
        message, field = REJECTED[name]
        raise BatchRejected(str(message), details={"field": field}) from error
