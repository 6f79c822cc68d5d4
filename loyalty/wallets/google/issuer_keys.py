"""A brand's issuer at Google Wallet: its id and its service account."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.errors import Invalid
from core.http import google_service_accounts
from core.http.google_service_accounts import ServiceAccount

ISSUER_ID = re.compile(r"[0-9]{5,25}")


@dataclass(frozen=True, slots=True)
class GoogleKeys:
    """`identifier` is the issuer id, under the name that Apple's keys have for theirs."""

    identifier: str
    account: ServiceAccount


def read(content: bytes, issuer_id: str) -> GoogleKeys:
    """Parse a service account's JSON file. Raises Unavailable, and Invalid with the wrong field in `details`."""
    if not ISSUER_ID.fullmatch(issuer_id.strip()):
        message = _("Enter the issuer id (digits) as the Google Pay & Wallet Console shows it.")
        raise Invalid(message, details={"field": "issuer_id"})
    return GoogleKeys(issuer_id.strip(), google_service_accounts.read(content, field="service_account"))
