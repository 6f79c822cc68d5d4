"""The last scan of a guest without scripts, in a cookie: after a reload or another login it is still theirs."""

from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from scanpage.session_cookies import name

SALT = "scanpage.guest-scan"


@dataclass(frozen=True, slots=True)
class GuestScan:
    """The code, the nonce of the request, and the proof that the scan was theirs."""

    code: str
    nonce: str
    scan_id: str
    scan_token: str


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
