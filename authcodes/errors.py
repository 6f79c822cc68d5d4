"""Why a code, a batch or an import is rejected."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from core.errors import DomainError, Invalid


class AuthCodeInvalid(DomainError, code="AUTH_CODE_INVALID", status=400):
    """One error for unknown, expired, deactivated, unassigned and foreign codes and for wrong tags, so that guessing
    reveals nothing. `extra`: members that are added to the answer's envelope.
    """

    default_message = _("The auth code is not valid or has expired.")

    def __init__(self, message: str = "", *, extra: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.extra = extra or {}


class ScanLimitReached(DomainError, code="SCAN_LIMIT_REACHED", status=409):
    default_message = _("This code has reached its scan limit.")


class ScanNotAdoptable(DomainError, code="SCAN_NOT_ADOPTABLE", status=409):
    """One error for a wrong or late token, a scan that is not a guest's, and a scan that is already adopted."""

    default_message = _("This scan can no longer be claimed. Scan the code again.")


class CodeRecalled(DomainError, code="CODE_RECALLED", status=409):
    default_message = _("This product has been recalled and earns no points.")


class BatchRejected(Invalid):
    """What was requested of batches, codes, deliveries or recalls is not possible; `details` may name the field."""


class ImportRejected(Invalid):
    """An import that cannot be uploaded, committed or undone. The message has the reason and what to do."""
