"""Why a wallet pass is unavailable."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from core.errors import DomainError, TokenInvalid


class WalletUnavailable(DomainError, code="WALLET_UNAVAILABLE", status=409):
    """`reason` is machine-readable: not_configured, expired or unreadable."""

    default_message = _("This brand does not offer passes for this wallet at the moment.")
    example_details = {"reason": "expired"}

    def __init__(self, message: str = "", *, reason: str = "not_configured") -> None:
        details: dict[str, Any] = {"reason": reason}
        super().__init__(message, details=details)


class PassTokenInvalid(TokenInvalid):
    default_message = _("The pass's own token is missing or wrong.")
