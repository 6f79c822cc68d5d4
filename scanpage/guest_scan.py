"""The last scan of a guest without scripts, in a cookie: after a reload or another login it is still theirs."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from scanpage.session_cookies import name

SALT = "scanpage.guest-scan"
SCAN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MAX_TOKEN_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class GuestScan:
    """The code, the nonce of the request, and the proof that the scan was theirs."""

    code: str
    nonce: str
    scan_id: str
    scan_token: str


def sent_scan(form: Mapping[str, str], *, code: str, nonce: str) -> GuestScan | None:
    """The scan that a form of the code's page sends along; None if its id or proof is missing or malformed."""
    scan_id, token = form.get("scan_id", ""), form.get("scan_token", "")
    is_sound = SCAN_ID.fullmatch(scan_id) and 0 < len(token) <= MAX_TOKEN_LENGTH
    return GuestScan(code, nonce, scan_id, token) if is_sound else None


def saved_scan(request: HttpRequest) -> GuestScan | None:
    """The saved scan, as long as it can be adopted."""
    try:
        result = signing.loads(request.COOKIES.get(name("scan"), ""), salt=SALT, max_age=seconds())
    except signing.BadSignature:
        return None
    return GuestScan(**result)


def save_scan(response: HttpResponseBase, scan: GuestScan) -> None:
    response.set_cookie(
        name("scan"),
        signing.dumps(asdict(scan), salt=SALT),
        max_age=seconds(),
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def delete_cookie(response: HttpResponseBase) -> None:
    response.delete_cookie(name("scan"), samesite="Lax")


def seconds() -> int:
    return settings.GUEST_SCAN_MINUTES * 60
