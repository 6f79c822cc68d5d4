"""Who may print, and the confirmation before codes are printed again."""

from typing import Any

from django.http import HttpRequest

from authcodes.models.prints import PrintRun
from brands.identity import roles
from brands.identity.roles import ACT

LABEL = "authcodes.printrun"
MAX_EARLIER_RUNS = 10  # earlier runs that a page lists


def may_print(user: Any, brand_id: int) -> bool:
    return brand_id in roles.brand_scope(user, ACT, LABEL)


def is_confirmed(request: HttpRequest, newest: PrintRun | None) -> bool:
    """Whether none of the codes was printed before, or the user has confirmed the newest earlier run."""
    return newest is None or request.POST.get("again") == str(newest.pk)
