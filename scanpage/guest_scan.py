"""The last scan of a guest without scripts, in a cookie: shown again, or logged in elsewhere, it is still theirs."""

from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from scanpage.session_cookies import name

SALT = "scanpage.guest-scan"


@dataclass(frozen=True, slots=True)
class GuestScan:
    """Which code, the nonce that it was sent with, and what proves that it was theirs."""

    code: str
    nonce: str
    scan_id: str
    scan_token: str


def saved_scan(request: HttpRequest) -> GuestScan | None:
    """For as long as the scan can be taken over."""
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
