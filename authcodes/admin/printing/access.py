"""Who may print, and who is asked before they print something again."""

from typing import Any

from django.http import HttpRequest

from authcodes.models.prints import PrintRun
from brands.identity import roles
from brands.identity.roles import ACT

LABEL = "authcodes.printrun"
MAX_EARLIER_RUNS = 10  # earlier runs that a page names


def may_print(user: Any, brand_id: int) -> bool:
    return brand_id in roles.brand_scope(user, ACT, LABEL)


def is_confirmed(request: HttpRequest, newest: PrintRun | None) -> bool:
    """Whether nothing of it was printed before, or the person has read what was."""
    return newest is None or request.POST.get("again") == str(newest.pk)
