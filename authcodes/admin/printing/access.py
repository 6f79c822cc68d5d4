"""Who may print, and who may download what was printed."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from authcodes.models.prints import PrintRun
from brands.identity import roles
from brands.identity.roles import ACT

LABEL = "authcodes.printrun"
MAX_EARLIER_RUNS = 10  # earlier runs that a page names


def may_print(user: Any, brand_id: int) -> bool:
    return brand_id in roles.brand_scope(user, ACT, LABEL)


def needs_confirmation(request: HttpRequest, newest: PrintRun | None) -> bool:
    """Whether nothing of it was printed before, or the person has read what was."""
    return newest is None or request.POST.get("again") == str(newest.pk)


def offered(content: bytes, name: str, kind: str) -> HttpResponse:
    """A file to download."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=kind, headers=headers)
